package engine

import (
	"encoding/binary"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"
	"unsafe"

	"ebbtide/internal/effect"
	"ebbtide/internal/ledger"
	"ebbtide/internal/plan"
	"ebbtide/internal/power"
)

// What follows copies engines, and the referee, and writes down what of them decides what they will do or say, by reflection over
// every field of every type that they are made of, also those of packages power and plan. So no field can be forgotten: one that is
// to be left out, and how far back a time matters, stands in the tables of export_test.go, and what they do not cover
// panics when the walks are made. A walk is made once for each type.

// shared are the types that never change once they are made: copies have them in common.
var shared = map[reflect.Type]bool{
	reflect.TypeFor[Settings](): true, reflect.TypeFor[power.Policy](): true, reflect.TypeFor[*plan.Estate](): true,
	reflect.TypeFor[*plan.Plan](): true, reflect.TypeFor[*plan.Step](): true, reflect.TypeFor[time.Time](): true,
}

// copyWalk mends a value that was copied bit by bit so that it shares nothing with its original. nil: nothing to mend.
type copyWalk func(p unsafe.Pointer)

// copying makes the walk of a type.
func copying(t reflect.Type) copyWalk {
	if shared[t] {
		return nil
	}
	switch t.Kind() {
	case reflect.Struct:
		return copyStruct(t)
	case reflect.Pointer:
		elem, mend := t.Elem(), copying(t.Elem())
		return func(p unsafe.Pointer) {
			old := reflect.NewAt(t, p).Elem()
			if old.IsNil() {
				return
			}
			fresh := reflect.New(elem)
			fresh.Elem().Set(reflect.NewAt(elem, old.UnsafePointer()).Elem())
			if mend != nil {
				mend(fresh.UnsafePointer())
			}
			old.Set(fresh)
		}
	case reflect.Slice:
		return copySlice(t)
	case reflect.Array:
		size, mend := t.Elem().Size(), copying(t.Elem())
		if mend == nil {
			return nil
		}
		return func(p unsafe.Pointer) {
			for i := range t.Len() {
				mend(unsafe.Add(p, uintptr(i)*size))
			}
		}
	case reflect.Map:
		if t != reflect.TypeFor[map[ledger.Op]int]() {
			panic(fmt.Sprintf("copying: say how a %s is copied", t))
		}
		return func(p unsafe.Pointer) { m := (*map[ledger.Op]int)(p); *m = maps.Clone(*m) }
	case reflect.Chan, reflect.Interface, reflect.UnsafePointer:
		panic(fmt.Sprintf("copying: say how a %s is copied", t))
	default: // plain values, strings, and the orders of queues
		return nil
	}
}

func copySlice(t reflect.Type) copyWalk {
	size, mend, plain := t.Elem().Size(), copying(t.Elem()), plainKind(t.Elem().Kind())
	return func(p unsafe.Pointer) {
		head := (*[]byte)(p) // of the slice's items only their number is meant
		switch {
		case len(*head) == 0:
			*head = (*head)[:0:0] // what is appended goes elsewhere
		case plain:
			n := uintptr(len(*head)) * size
			fresh := unsafe.Pointer(unsafe.SliceData(make([]uint64, (n+7)/8)))
			copy(unsafe.Slice((*byte)(fresh), n), unsafe.Slice(unsafe.SliceData(*head), n))
			*head = unsafe.Slice((*byte)(fresh), len(*head))
		default:
			old := reflect.NewAt(t, p).Elem()
			fresh := reflect.MakeSlice(t, old.Len(), old.Len())
			reflect.Copy(fresh, old)
			for i := 0; mend != nil && i < old.Len(); i++ {
				mend(unsafe.Add(fresh.UnsafePointer(), uintptr(i)*size))
			}
			old.Set(fresh)
		}
	}
}

// plainKind reports whether values of a kind hold no pointers.
func plainKind(k reflect.Kind) bool { return k >= reflect.Bool && k <= reflect.Float64 }

func copyStruct(t reflect.Type) copyWalk {
	type part struct {
		at   uintptr
		mend copyWalk
	}
	var parts []part
	for f := range t.Fields() {
		name := fieldName(t, f)
		if name == "desk.Out" { // empty between two events
			parts = append(parts, part{f.Offset, func(p unsafe.Pointer) { *(*[]effect.Effect)(p) = nil }})
		} else if mend := copying(f.Type); mend != nil && !inCommon[name] {
			parts = append(parts, part{f.Offset, mend})
		}
	}
	if parts == nil {
		return nil
	}
	return func(p unsafe.Pointer) {
		for _, f := range parts {
			f.mend(unsafe.Add(p, f.at))
		}
	}
}

// met are the fields that the walks came by.
var met = map[string]bool{}

// print is a fingerprint that is being written.
type print struct {
	now    time.Time
	bytes  []byte
	ops    []ledger.Op        // outstanding, ascending: an operation is known by its place among them
	timers func(node int) int // the number of a node's newest
	sweeps bool               // no outage is open, or something is out of its scope
	life   int64              // of the referee
}

// printWalk writes what matters of a value. nil: nothing does.
type printWalk func(w *print, p unsafe.Pointer)

// printing makes the walk of a type; of a time it needs the name of its field.
func printing(t reflect.Type, field string) printWalk {
	if walk := printKnown(t, field); walk != nil {
		return walk
	}
	if walk := printNumber(t.Kind(), field); walk != nil {
		return walk
	}
	switch t.Kind() {
	case reflect.Func: // the orders of queues
		return nil
	case reflect.String:
		return printText(field)
	case reflect.Struct:
		if strings.HasPrefix(t.Name(), "Queue[") {
			return printBag(t.Field(0))
		}
		return printStruct(t)
	case reflect.Pointer:
		elem := printing(t.Elem(), field)
		return func(w *print, p unsafe.Pointer) {
			to := *(*unsafe.Pointer)(p)
			w.flag(to != nil)
			if to != nil {
				elem(w, to)
			}
		}
	case reflect.Slice:
		return printSlice(t, field)
	case reflect.Array:
		elem := printing(t.Elem(), field)
		return func(w *print, p unsafe.Pointer) {
			for i := range t.Len() {
				elem(w, unsafe.Add(p, uintptr(i)*t.Elem().Size()))
			}
		}
	default:
		panic(fmt.Sprintf("printing: say what of a %s (%s) matters", t, field))
	}
}

// printKnown makes the walk of a type that has one of its own; nil: it has none.
func printKnown(t reflect.Type, field string) printWalk {
	switch t {
	case reflect.TypeFor[time.Time]():
		back, known := ages[field]
		if !known {
			panic(fmt.Sprintf("printing: say in ages how far back %s matters", field))
		}
		return func(w *print, p unsafe.Pointer) { w.time(*(*time.Time)(p), back) }
	case reflect.TypeFor[ledger.Op]():
		return func(w *print, p unsafe.Pointer) { w.number(int64(w.Place(*(*ledger.Op)(p)))) }
	case reflect.TypeFor[map[ledger.Op]int]():
		return func(w *print, p unsafe.Pointer) {
			for _, op := range w.ops {
				w.number(int64((*(*map[ledger.Op]int)(p))[op]))
			}
		}
	case timerType:
		return func(w *print, p unsafe.Pointer) {
			if t := (*timer)(p); w.timers(t.node) == t.number { // a void one does nothing
				w.number(int64(t.node))
				w.time(t.at, 0)
			}
		}
	default:
		return nil
	}
}

// printNumber makes the walk of a number or a truth; nil: it is neither.
func printNumber(k reflect.Kind, field string) printWalk {
	switch k {
	case reflect.Bool, reflect.Uint8:
		return func(w *print, p unsafe.Pointer) { w.bytes = append(w.bytes, *(*uint8)(p)) }
	case reflect.Int:
		if lives[field] {
			return func(w *print, p unsafe.Pointer) { w.flag(int64(*(*int)(p)) == w.life) }
		}
		if most, capped := caps[field]; capped {
			return func(w *print, p unsafe.Pointer) { w.number(int64(min(*(*int)(p), most))) }
		}
		return func(w *print, p unsafe.Pointer) { w.number(int64(*(*int)(p))) }
	case reflect.Uint32:
		return func(w *print, p unsafe.Pointer) { w.number(int64(*(*uint32)(p))) }
	case reflect.Int64, reflect.Uint64, reflect.Float64:
		if most, capped := caps[field]; capped {
			return func(w *print, p unsafe.Pointer) { w.number(min(*(*int64)(p), int64(most))) }
		}
		return func(w *print, p unsafe.Pointer) { w.number(*(*int64)(p)) }
	default:
		return nil
	}
}

// printText makes the walk of a text.
func printText(field string) printWalk {
	if words[field] {
		return func(w *print, p unsafe.Pointer) { w.flag(*(*string)(p) != "") }
	}
	return func(w *print, p unsafe.Pointer) {
		s := *(*string)(p)
		w.number(int64(len(s)))
		w.bytes = append(w.bytes, s...)
	}
}

func printStruct(t reflect.Type) printWalk {
	type part struct {
		at    uintptr
		print printWalk
	}
	var parts []part
	for f := range t.Fields() {
		name := fieldName(t, f)
		met[name] = true
		if _, left := leftOut[name]; left {
			continue
		}
		walk := printing(f.Type, name)
		if sweptOnly[name] {
			always := walk
			walk = func(w *print, p unsafe.Pointer) {
				if w.sweeps {
					always(w, p)
				}
			}
		}
		if walk != nil {
			parts = append(parts, part{f.Offset, walk})
		}
	}
	return func(w *print, p unsafe.Pointer) {
		for _, f := range parts {
			f.print(w, unsafe.Add(p, f.at))
		}
	}
}

func printSlice(t reflect.Type, field string) printWalk {
	size, elem := t.Elem().Size(), printing(t.Elem(), field)
	return func(w *print, p unsafe.Pointer) {
		items := *(*[]byte)(p) // only its length is meant
		w.number(int64(len(items)))
		for i := range len(items) {
			elem(w, unsafe.Add(unsafe.Pointer(unsafe.SliceData(items)), uintptr(i)*size))
		}
	}
}

// printBag writes the items of a slice sorted by what they write: their order means nothing.
func printBag(f reflect.StructField) printWalk {
	size, elem := f.Type.Elem().Size(), printing(f.Type.Elem(), f.Name)
	return func(w *print, p unsafe.Pointer) {
		items := *(*[]byte)(unsafe.Add(p, f.Offset))
		var written []string
		start := len(w.bytes)
		for i := range len(items) {
			elem(w, unsafe.Add(unsafe.Pointer(unsafe.SliceData(items)), uintptr(i)*size))
			if len(w.bytes) > start {
				written = append(written, string(w.bytes[start:]))
			}
			w.bytes = w.bytes[:start]
		}
		slices.Sort(written)
		w.number(int64(len(written)))
		for _, s := range written {
			w.bytes = append(w.bytes, s...)
		}
	}
}

func (w *print) flag(b bool) {
	if b {
		w.bytes = append(w.bytes, 1)
	} else {
		w.bytes = append(w.bytes, 0)
	}
}

func (w *print) number(v int64) { w.bytes = binary.AppendVarint(w.bytes, v) }

// time writes how far off a time is; one that lies further back than matters is as one just that far back.
func (w *print) time(t time.Time, back time.Duration) {
	if t.IsZero() {
		w.number(-1 << 40)
		return
	}
	w.number(int64(max(t.Sub(w.now), -back-1)))
}

// Place is where an operation stands among the outstanding ones: from 1, -1 if it is none of them, 0 for none.
func (w *print) Place(op ledger.Op) int {
	if op == 0 {
		return 0
	}
	if at, ok := slices.BinarySearch(w.ops, op); ok {
		return at + 1
	}
	return -1
}

// fieldName is how a field goes by in the tables: two packages have a node and a supply.
func fieldName(t reflect.Type, f reflect.StructField) string {
	name := t.Name() + "." + f.Name
	if strings.HasSuffix(t.PkgPath(), "/referee") {
		return "referee." + name
	}
	return name
}
