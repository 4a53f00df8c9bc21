package credentials

// Folder is the place of [OpenStore].
func Folder(dir string) Place { return folder(dir) }
