package runbook

import "reflect"

// ReadDocument reads another document of this program's, such as a scenario, as strictly as a runbook is read: what is
// not in it is reported by position with what to write instead. target points to a struct with yaml tags, which the
// decoder's comment explains; what names the document for hints ("a scenario"). It is filled in as far as the
// document can be read.
func ReadDocument(name string, src []byte, what string, target any) Problems {
	r := &reporter{file: name}
	top := r.read(src)
	if top == nil {
		return r.finish()
	}
	d := &decoder{reporter: r, fields: map[reflect.Type][]field{}}
	d.mapping(top, top, what, reflect.ValueOf(target).Elem())
	return r.finish()
}
