// Command clean calls nothing that the database of the tests has an entry about.
package main

func main() { println("clean") }
