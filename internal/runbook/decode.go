package runbook

import (
	"cmp"
	"encoding"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"ebbtide/internal/schema"
)

// decoder fills structs from values by their yaml tags and reports every mistake on the way. A field's check tag holds
// words: "required" (the key must be given), "positive" (a number or duration above zero), "connection" (the text is
// the name of a declared connection). A tag `yaml:",inline"` takes the fields of an embedded struct as the
// mapping's own.
//
// Fields may be text, bool, int, float64, time.Duration, SecretRef, structs, pointers, slices and maps with text keys
// of these, and types that read themselves: by UnmarshalText, or by UnmarshalYAML(func(any) error).
type decoder struct {
	*reporter
	path   []string // keys and "[n]" from the top to the value at hand
	fields map[reflect.Type][]field
	refs   []reference // of fields tagged connection
	steps  int         // values decoded so far: an alias is decoded wherever it stands
}

// reference is a place that names a connection.
type reference struct {
	name string
	at   *value
	path string
}

// maxSteps bounds what aliases within aliases may grow to.
const maxSteps = 1_000_000

// selfReading is a type of this package that reads itself with positions.
type selfReading interface{ read(d *decoder, v *value) }

// yamlReading is a type of an adapter that reads itself through a function that decodes the value into a target.
type yamlReading interface {
	UnmarshalYAML(decode func(any) error) error
}

type field struct {
	name       string
	index      []int
	required   bool
	positive   bool
	connection bool
	secret     bool
}

var (
	durationType    = reflect.TypeFor[time.Duration]()
	secretType      = reflect.TypeFor[schema.SecretRef]()
	selfReadingType = reflect.TypeFor[selfReading]()
	yamlReadingType = reflect.TypeFor[yamlReading]()
	skippedType     = reflect.TypeFor[readElsewhere]()
	textType        = reflect.TypeFor[encoding.TextUnmarshaler]()
)

func (d *decoder) fail(at *value, hint, format string, args ...any) {
	d.add(Error, at, d.where(), fmt.Sprintf(format, args...), hint)
}

// where is the path of the value at hand.
func (d *decoder) where() string {
	var b strings.Builder
	for _, p := range d.path {
		if b.Len() > 0 && !strings.HasPrefix(p, "[") {
			b.WriteByte('.')
		}
		b.WriteString(p)
	}
	return b.String()
}

func (d *decoder) enter(key string) { d.path = append(d.path, key) }
func (d *decoder) leave()           { d.path = d.path[:len(d.path)-1] }

// decode fills dst, which is settable, from v.
func (d *decoder) decode(v *value, dst reflect.Value) {
	if d.steps++; d.steps > maxSteps {
		if d.steps == maxSteps+1 {
			d.fail(v, "use fewer aliases within aliases", "the runbook is too large when its aliases are written out")
		}
		return
	}
	if v.kind == broken || d.byType(v, dst) {
		return
	}
	d.byKind(v, dst)
}

// byType fills what has a way of its own to be read, and reports whether it has one, or is not there.
func (d *decoder) byType(v *value, dst reflect.Value) bool {
	t := dst.Type()
	switch {
	case t == secretType:
		d.secret(v, dst)
	case v.kind == nothing && t != skippedType:
		d.fail(v, "give it a value, or remove the key", "%s has no value", d.path[len(d.path)-1])
	case t == durationType:
		if dur, ok := d.duration(v); ok {
			dst.SetInt(int64(dur))
		}
	case t.Kind() == reflect.Pointer:
		p := reflect.New(t.Elem())
		d.decode(v, p.Elem())
		dst.Set(p)
	case reflect.PointerTo(t).Implements(selfReadingType):
		dst.Addr().Interface().(selfReading).read(d, v)
	case reflect.PointerTo(t).Implements(yamlReadingType):
		d.unmarshalYAML(v, dst.Addr().Interface().(yamlReading))
	case reflect.PointerTo(t).Implements(textType):
		if d.want(v, scalar, "text") {
			if err := dst.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(v.text)); err != nil {
				d.fail(v, "", "%v", err)
			}
		}
	default:
		return false
	}
	return true
}

// byKind fills what is read as its kind is.
func (d *decoder) byKind(v *value, dst reflect.Value) {
	switch t := dst.Type(); t.Kind() {
	case reflect.String:
		if d.want(v, scalar, "text") {
			dst.SetString(v.text)
		}
	case reflect.Bool:
		d.bool(v, dst)
	case reflect.Int:
		if d.want(v, scalar, "a whole number") {
			n, err := strconv.Atoi(v.text)
			if err != nil || v.quoted {
				d.fail(v, wholeHint(v.text), "expected a whole number, found %s", v.what())
				return
			}
			dst.SetInt(int64(n))
		}
	case reflect.Float64:
		if n, ok := d.number(v, ""); ok {
			dst.SetFloat(n)
		}
	case reflect.Slice:
		d.slice(v, dst)
	case reflect.Map:
		d.textMap(v, dst)
	case reflect.Struct:
		d.mapping(v, v, "", dst)
	default:
		panic(fmt.Sprintf("runbook: a spec has a field of type %v, which the language does not have", t))
	}
}

// want reports a value of the wrong kind.
func (d *decoder) want(v *value, kind valueKind, name string) bool {
	if v.kind == kind {
		return true
	}
	if v.kind == broken {
		return false
	}
	hint := ""
	switch {
	case v.kind == nothing:
		hint = "give it a value, or remove the key"
	case kind == sequence && v.kind == mapping:
		hint = "write a list: each entry after a - of its own, or all within [ ]"
	case kind == sequence && v.kind == scalar:
		if v.text != "" {
			hint = fmt.Sprintf("write [%s]", v.text)
		}
	case kind == scalar && v.kind == sequence && len(v.items) == 1 && v.items[0].kind == scalar:
		hint = "write " + v.items[0].text
	}
	d.fail(v, hint, "expected %s, found %s", name, v.what())
	return false
}

func (d *decoder) bool(v *value, dst reflect.Value) {
	if !d.want(v, scalar, "true or false") {
		return
	}
	switch {
	case !v.quoted && v.text == "true", !v.quoted && v.text == "false":
		dst.SetBool(v.text == "true")
	case slices.Contains([]string{"yes", "on", "y", "1", "true"}, strings.ToLower(v.text)):
		d.fail(v, "write true", "expected true or false, found %s", v.what())
	case slices.Contains([]string{"no", "off", "n", "0", "false"}, strings.ToLower(v.text)):
		d.fail(v, "write false", "expected true or false, found %s", v.what())
	default:
		d.fail(v, "", "expected true or false, found %s", v.what())
	}
}

func wholeHint(text string) string {
	if _, err := strconv.Atoi(text); err == nil {
		return "write " + text + " without quotes"
	}
	return ""
}

func (d *decoder) slice(v *value, dst reflect.Value) {
	if !d.want(v, sequence, "a list") {
		return
	}
	out := reflect.MakeSlice(dst.Type(), len(v.items), len(v.items))
	for i, item := range v.items {
		d.enter("[" + strconv.Itoa(i) + "]")
		d.decode(item, out.Index(i))
		d.leave()
	}
	dst.Set(out)
}

func (d *decoder) textMap(v *value, dst reflect.Value) {
	if !d.want(v, mapping, "a mapping") {
		return
	}
	out := reflect.MakeMapWithSize(dst.Type(), len(v.pairs))
	for _, p := range v.pairs {
		d.enter(p.key.text)
		elem := reflect.New(dst.Type().Elem()).Elem()
		d.decode(p.val, elem)
		out.SetMapIndex(reflect.ValueOf(p.key.text).Convert(dst.Type().Key()), elem)
		d.leave()
	}
	dst.Set(out)
}

// unmarshalYAML lets a type read itself. Its mistakes are reported at the value.
func (d *decoder) unmarshalYAML(v *value, target yamlReading) {
	err := target.UnmarshalYAML(func(into any) error {
		inner := decoder{reporter: &reporter{}, path: d.path, fields: d.fields, steps: d.steps}
		inner.decode(v, reflect.ValueOf(into).Elem())
		d.steps, d.refs, d.masks = inner.steps, append(d.refs, inner.refs...), append(d.masks, inner.masks...)
		if len(inner.problems) > 0 {
			return errors.New(inner.problems[0].Message)
		}
		return nil
	})
	if err != nil {
		d.fail(v, "", "%v", err)
	}
}

// mapping fills structs from one mapping: each key belongs to the first struct that has it. owner is where a missing
// key is reported; skip names keys read elsewhere; what names the thing for hints ("a supply").
func (d *decoder) mapping(v, owner *value, what string, targets ...reflect.Value) {
	if !d.want(v, mapping, "a mapping") {
		return
	}
	misspelled := map[string]bool(nil)
	for _, p := range v.pairs {
		f, target := d.fieldOf(p.key.text, targets)
		if f == nil {
			if misspelled == nil {
				misspelled = map[string]bool{}
			}
			misspelled[d.unknown(p, what, targets)] = true
			continue
		}
		d.enter(f.name)
		dst := target.FieldByIndex(f.index)
		before := len(d.problems)
		d.decode(p.val, dst)
		if len(d.problems) == before {
			d.verify(p.val, f, dst)
		}
		d.leave()
	}
	for _, t := range targets {
		for _, f := range d.fieldsOf(t.Type()) {
			if f.required && v.find(f.name) == nil && !misspelled[f.name] {
				d.fail(owner, "add "+f.name+": …", "%s lacks the key %s", cmp.Or(what, "this"), f.name)
			}
		}
	}
}

// verify holds a decoded field against the words of its check tag.
func (d *decoder) verify(v *value, f *field, dst reflect.Value) {
	if f.positive && v.kind == scalar {
		low := dst.CanInt() && dst.Int() <= 0 || dst.CanFloat() && dst.Float() <= 0
		if low {
			d.fail(v, "", "%s must be more than 0", f.name)
		}
	}
	if f.required && dst.Kind() == reflect.String && dst.Len() == 0 {
		d.fail(v, "give it a value", "%s is empty", f.name)
	}
	if !f.connection {
		return
	}
	items := []*value{v}
	if v.kind == sequence {
		items = v.items
	}
	for _, item := range items {
		if item.kind == scalar {
			d.refs = append(d.refs, reference{name: item.text, at: item, path: d.where()})
		}
	}
}

func (d *decoder) fieldOf(key string, targets []reflect.Value) (*field, reflect.Value) {
	for _, t := range targets {
		fields := d.fieldsOf(t.Type())
		for i := range fields {
			if fields[i].name == key {
				return &fields[i], t
			}
		}
	}
	return nil, reflect.Value{}
}

// unknown reports a key that no target has, and returns the one that was probably meant.
func (d *decoder) unknown(p pair, what string, targets []reflect.Value) (meant string) {
	var names, secrets []string
	for _, t := range targets {
		for _, f := range d.fieldsOf(t.Type()) {
			names = append(names, f.name)
			if f.secret {
				secrets = append(secrets, f.name)
			}
		}
	}
	if meant = nearest(p.key.text, names); len(secrets) > 0 && (meant == "" || slices.Contains(secrets, meant)) {
		d.maskAll(p.val) // it may be a secret under a misspelled key
	}
	d.enter(p.key.text)
	d.fail(p.key, suggest(p.key.text, names, "known keys"), "unknown key %q%s", p.key.text, ofWhat(what))
	d.leave()
	return meant
}

func ofWhat(what string) string {
	if what == "" {
		return ""
	}
	return " in " + what
}

// fieldsOf lists the fields of a struct by its yaml tags, those of inlined structs too.
func (d *decoder) fieldsOf(t reflect.Type) []field {
	if known, ok := d.fields[t]; ok {
		return known
	}
	var fields []field
	for i := range t.NumField() {
		sf := t.Field(i)
		name, options, _ := strings.Cut(sf.Tag.Get("yaml"), ",")
		if options == "inline" {
			for _, f := range d.fieldsOf(sf.Type) {
				f.index = append([]int{i}, f.index...)
				fields = append(fields, f)
			}
			continue
		}
		if name == "" || name == "-" {
			continue
		}
		words := strings.Split(sf.Tag.Get("check"), ",")
		fields = append(fields, field{
			name: name, index: sf.Index, secret: sf.Type == secretType,
			required:   slices.Contains(words, "required"),
			positive:   slices.Contains(words, "positive"),
			connection: slices.Contains(words, "connection"),
		})
	}
	d.fields[t] = fields
	return fields
}

// decodeInto fills the struct that target points to.
func (d *decoder) decodeInto(v *value, target any) { d.decode(v, reflect.ValueOf(target).Elem()) }
