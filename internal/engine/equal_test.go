package engine

import (
	"reflect"
	tests "testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// Ledgers are compared by hand, since the core knows no reflection: here each field of one is changed, and is to be seen.
func TestLedgersDifferInEachField(t *tests.T) {
	made := func() *outage {
		return &outage{supplies: []standing{{stages: []bool{false}}}, nodes: make([]entry, 1), lost: make([]bool, 1), scope: make([]bool, 1), cut: make([]bool, 1), due: [][]bool{{false}}, drill: drill{in: make([]bool, 1)}}
	}
	require.True(t, made().equal(made()))
	var walk func(path string, reach func(*outage) reflect.Value)
	walk = func(path string, reach func(*outage) reflect.Value) {
		switch v := reach(made()); v.Kind() {
		case reflect.Struct:
			for i := range v.NumField() {
				walk(path+"."+v.Type().Field(i).Name, func(o *outage) reflect.Value { return reach(o).Field(i) })
			}
		case reflect.Slice:
			require.Equal(t, 1, v.Len(), path)
			walk(path+"[0]", func(o *outage) reflect.Value { return reach(o).Index(0) })
		default:
			o := made()
			v = reach(o)
			v = reflect.NewAt(v.Type(), unsafe.Pointer(v.UnsafeAddr())).Elem()
			switch {
			case v.Kind() == reflect.Bool:
				v.SetBool(true)
			case v.Kind() == reflect.String:
				v.SetString("x")
			case v.CanInt():
				v.SetInt(1)
			default:
				v.SetUint(1)
			}
			require.False(t, o.equal(made()), path)
		}
	}
	walk("outage", func(o *outage) reflect.Value { return reflect.ValueOf(o).Elem() })
}
