// Command clean calls no code that is in the tests' database.
package main

func main() { println("clean") }
