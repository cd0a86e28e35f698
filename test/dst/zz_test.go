package dst_test

import (
	"fmt"
	"os"
	"testing"

	"ebbtide/internal/sim"
)

func TestZZ(t *testing.T) {
	f := os.Getenv("ZZ")
	if f == "" {
		t.Skip()
	}
	text, _ := os.ReadFile(f)
	r, err := play(string(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range r.Lines {
		fmt.Printf("%s %T %+v\n", l.At, l.Effect, l.Effect)
	}
	fmt.Println(sim.Tell(r))
}
