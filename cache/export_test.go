package cache

import "unsafe"

// QuestionLines returns the first and the last cache line of each of some new questions.
func QuestionLines() [][2]uintptr {
	all, lines := make([]*question, 100), make([][2]uintptr, 100)
	for i := range all {
		all[i] = new(question)
		at := uintptr(unsafe.Pointer(all[i]))
		lines[i] = [2]uintptr{at / 64, (at + unsafe.Sizeof(*all[i]) - 1) / 64}
	}
	return lines
}
