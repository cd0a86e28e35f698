package doc

import "strings"

// running is a text of a document that is no step's and no table's: a paragraph, a note, an item of a list.
type running struct {
	where string // the headings over it
	text  Text
	mark  func(changed bool)
}

func (r *running) facts() string { return r.where + "\x00" + withoutRefs(r.text).String() }

// shown is the text in a list: where it stands and how it begins.
func (r *running) shown() Text {
	const most = 200 // letters
	text := strings.ReplaceAll(r.text.String(), "\n", " ")
	if at := strings.IndexByte(text[min(most, len(text)):], ' '); at >= 0 {
		text = text[:most+at] + " …"
	}
	return T("%s: %s", r.where, text)
}

// texts are a document's running texts, in their order.
func (d *Document) texts() []running {
	var all []running
	chapter, where := "", "Cover"
	for i := range d.Blocks {
		switch b := d.Blocks[i].(type) {
		case Heading:
			if where = b.Text; b.Level == 1 {
				chapter = b.Text
			} else if chapter != "" {
				where = chapter + ", " + b.Text
			}
		case Paragraph:
			all = append(all, running{where, b.Text, func(changed bool) { b.Changed = changed; d.Blocks[i] = b }})
		case Note:
			text := Join(T("%s ", b.Opening()), b.Text)
			all = append(all, running{where, text, func(changed bool) { b.Changed = changed; d.Blocks[i] = b }})
		case List:
			b.Changed = make([]bool, len(b.Items))
			for k, item := range b.Items {
				all = append(all, running{where, item, func(changed bool) { b.Changed[k] = changed; d.Blocks[i] = b }})
			}
		}
	}
	return all
}

// markTexts marks the running texts that an older document has not, and lists them and those that are gone.
func (d *Document) markTexts(old *Document) (changed, gone []Text) {
	was, is := map[string]bool{}, map[string]bool{}
	for _, r := range old.texts() {
		was[r.facts()] = true
	}
	for _, r := range d.texts() {
		is[r.facts()] = true
		if r.mark(!was[r.facts()]); !was[r.facts()] {
			changed = append(changed, r.shown())
		}
	}
	for _, r := range old.texts() {
		if !is[r.facts()] {
			gone = append(gone, r.shown())
		}
	}
	return changed, gone
}
