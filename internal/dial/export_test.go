package dial

// Plain is for tests of what becomes of comments.
var Plain = plain
