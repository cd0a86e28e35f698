package runbook

// The sections of a runbook whose entries can be remarked on.
const (
	SectionSupplies    = "supplies"
	SectionConnections = "connections"
	SectionNodes       = "nodes"
)

// Remark is what something outside of the text has to say of an entry of a runbook.
type Remark struct {
	Severity Severity
	Section  string // SectionSupplies, SectionConnections or SectionNodes
	Name     string // of the entry
	Message  string
	Hint     string // what to do
}

// Remarked places remarks where their entries stand.
func (rb *Runbook) Remarked(remarks []Remark) Problems {
	at := map[[2]string]*value{}
	for i := range rb.Supplies {
		at[[2]string{SectionSupplies, rb.Supplies[i].ID}] = rb.Supplies[i].at.key
	}
	for i := range rb.Connections {
		at[[2]string{SectionConnections, rb.Connections[i].Name}] = rb.Connections[i].at.key
	}
	for i := range rb.Nodes {
		at[[2]string{SectionNodes, rb.Nodes[i].ID}] = rb.Nodes[i].at.key
	}
	r := &reporter{file: rb.reporter.file, lines: rb.reporter.lines, masks: rb.reporter.masks}
	for _, one := range remarks {
		place, known := at[[2]string{one.Section, one.Name}]
		if !known {
			place = rb.top
		}
		r.add(one.Severity, place, one.Section+"."+one.Name, one.Message, one.Hint)
	}
	return r.finish()
}
