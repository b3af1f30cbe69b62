module example.test/tree

go 1.26.0
