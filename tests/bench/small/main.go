// A small Go program: what a version command costs at least.
package main

import (
	"fmt"
	"runtime"
)

func main() {
	fmt.Println("small", runtime.Version())
}
