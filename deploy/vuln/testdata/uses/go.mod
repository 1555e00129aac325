module example.com/uses

go 1.26.0
