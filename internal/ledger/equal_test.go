package ledger

import (
	"reflect"
	tests "testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// Ledgers are compared by hand, since the core knows no reflection: here each field of one is changed, and is to be seen.
func TestLedgersDifferInEachField(t *tests.T) {
	made := func() *Outage {
		return &Outage{
			Supplies: []Standing{{Stages: []bool{false}}}, Nodes: make([]Node, 1), Lost: make([]bool, 1), Scope: make([]bool, 1),
			Cut: make([]bool, 1), Due: [][]bool{{false}}, Drill: Drill{In: make([]bool, 1)},
		}
	}
	require.True(t, made().equal(made()))
	var walk func(path string, reach func(*Outage) reflect.Value)
	walk = func(path string, reach func(*Outage) reflect.Value) {
		switch v := reach(made()); v.Kind() {
		case reflect.Pointer: // the zone of a time, which is no part of when it is
		case reflect.Struct:
			for i := range v.NumField() {
				walk(path+"."+v.Type().Field(i).Name, func(o *Outage) reflect.Value { return reach(o).Field(i) })
			}
		case reflect.Slice:
			require.Equal(t, 1, v.Len(), path)
			walk(path+"[0]", func(o *Outage) reflect.Value { return reach(o).Index(0) })
		default:
			o := made()
			v = reach(o)
			v = reflect.NewAt(v.Type(), unsafe.Pointer(v.UnsafeAddr())).Elem()
			switch {
			case v.Kind() == reflect.Bool:
				v.SetBool(true)
			case v.Kind() == reflect.String:
				v.SetString("x")
			case v.CanFloat():
				v.SetFloat(1)
			case v.CanInt():
				v.SetInt(1)
			default:
				v.SetUint(1)
			}
			require.False(t, o.equal(made()), path)
		}
	}
	walk("outage", func(o *Outage) reflect.Value { return reflect.ValueOf(o).Elem() })
}
