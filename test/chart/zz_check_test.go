package chart

import (
	"fmt"
	"os"
	"testing"
)

func TestZZCheck(t *testing.T) {
	b := newBench(t)
	b.install()
	e := b.endpoint("hook", nil)
	b.set("certificates", "handlers:\n- {id: myapp, causes: [Create, Update, Delete], http: "+e.http()+"}\n")
	first := b.certificates("first", 3)
	b.await("Succeeded", first...)
	out, err := b.program("check")
	fmt.Println("ADMIN", out, err)
	fmt.Println(b.helm("test", release, "--timeout", helmTimeout, "--logs"))
	fmt.Println(b.tryHelm("get", "hooks", release))
	_ = os.Stdout
}
