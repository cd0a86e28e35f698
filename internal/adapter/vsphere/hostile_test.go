package vsphere

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/vmware/govmomi/vim25/types"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/contracttest"
	"ebbtide/internal/adapter/decorate"
	"ebbtide/internal/schema"
)

const (
	soapHead = `<?xml version="1.0"?><e:Envelope xmlns:e="http://schemas.xmlsoap.org/soap/envelope/" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xmlns:xsd="http://www.w3.org/2001/XMLSchema"><e:Body>`
	soapTail = `</e:Body></e:Envelope>`
)

// impostor is an HTTPS server that says it is a vCenter, with the certificate that the runbook wants.
func impostor(t *testing.T, answer http.HandlerFunc) *ConnectionSpec {
	t.Helper()
	server := httptest.NewTLSServer(answer)
	t.Cleanup(server.Close)
	sum := sha256.Sum256(server.Certificate().Raw)
	return &ConnectionSpec{
		URL: server.URL, Username: "root", Password: schema.SecretRef{Env: "hunter2"},
		Thumbprint: hex.EncodeToString(sum[:]),
	}
}

// TestHostileAnswers: an answer without end is given up at once, and said to be one.
func TestHostileAnswers(t *testing.T) {
	const content = soapHead + `<RetrieveServiceContentResponse xmlns="urn:vim25"><returnval>`
	for what, text := range map[string]struct{ head, rest, want string }{
		"a text": {content + "<about><name>", "x", "is longer than 1 MB"},
		"elements": {
			content + "<about><name>y</name></about>", "<about><name>y</name></about>",
			"has more than 20000 elements and attributes",
		},
		"depth":       {content, "<a>", "nested more than 100 deep"},
		"a fault":     {soapHead + "<e:Fault><faultstring>", "\x1b[2J", "illegal character"},
		"no XML":      {"", "\x00", "illegal character"},
		"white space": {"", " ", "is longer than 1 MB"},
	} {
		t.Run(what, func(t *testing.T) {
			n := decorate.Clean(via(t, dial(t, "vcenter", impostor(t, endless(text.head, text.rest))), "web01"))
			_, err := n.Probe(contracttest.Within(t, 5*time.Second))
			require.ErrorIs(t, err, adapter.ErrUnreachable)
			require.ErrorContains(t, err, text.want)
			require.ErrorContains(t, err, checkURL)
			require.NotContains(t, err.Error(), "\x1b")
			require.Less(t, len(err.Error()), 5000)
		})
	}
}

// TestTheBodyIsBounded: exactly as much as allowed is read, and an answer that ends there is whole.
func TestTheBodyIsBounded(t *testing.T) {
	t.Parallel()
	body := func(text string, bytes int) *boundedBody {
		return &boundedBody{ReadCloser: io.NopCloser(strings.NewReader(text)), budget: &budget{left: room{bytes: bytes}}}
	}
	b := body("123456", 4)
	text, err := io.ReadAll(b)
	require.ErrorIs(t, err, errBeyond)
	require.Equal(t, "1234", string(text))
	b = body("1234", 5)
	text, err = io.ReadAll(b)
	require.NoError(t, err)
	require.Equal(t, "1234", string(text))
}

// TestRedirectionsAreNotFollowed: the password goes where the runbook says, and nowhere else.
func TestRedirectionsAreNotFollowed(t *testing.T) {
	var elsewhere atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	t.Cleanup(other.Close)
	asked := make(chan struct{}, 100)
	spec := impostor(t, func(w http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		http.Redirect(w, r, other.URL+"/sdk", http.StatusTemporaryRedirect)
	})
	_, err := via(t, dial(t, "vcenter", spec), "web01").Probe(contracttest.Within(t, 5*time.Second))
	require.Error(t, err)
	<-asked
	require.Zero(t, elsewhere.Load())
}

// impostorVCenter answers all that a connection asks at first; more adds answers, given the request, by the method.
func impostorVCenter(t *testing.T, more map[string]func(request string) string) *ConnectionSpec {
	t.Helper()
	answers := map[string]string{
		"RetrieveServiceContent": `<returnval><rootFolder type="Folder">f</rootFolder><propertyCollector type="PropertyCollector">p</propertyCollector><viewManager type="ViewManager">v</viewManager>` +
			`<about><name>x</name><fullName>x</fullName><vendor>x</vendor><version>8</version><build>1</build><osType>x</osType><productLineId>vpx</productLineId><apiType>VirtualCenter</apiType><apiVersion>8</apiVersion></about>` +
			`<sessionManager type="SessionManager">s</sessionManager></returnval>`,
		"Login":                   `<returnval><key>k</key><userName>u</userName><fullName>u</fullName><loginTime>2026-01-01T00:00:00Z</loginTime><lastActiveTime>2026-01-01T00:00:00Z</lastActiveTime><locale>en</locale><messageLocale>en</messageLocale></returnval>`,
		"CreateContainerView":     `<returnval type="ContainerView">c</returnval>`,
		"CreatePropertyCollector": `<returnval type="PropertyCollector">q</returnval>`,
		"CreateFilter":            `<returnval type="PropertyFilter">r</returnval>`,
	}
	return impostor(t, func(w http.ResponseWriter, r *http.Request) {
		request, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		_, method, _ := strings.Cut(string(request), "<Body><")
		method, _, _ = strings.Cut(method, " ")
		text, ok := answers[method]
		if answer := more[method]; answer != nil {
			text, ok = answer(string(request)), true
		}
		if !ok {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		_, _ = fmt.Fprintf(w, `%s<%sResponse xmlns="urn:vim25">%s</%sResponse>%s`, soapHead, method, text, method, soapTail)
	})
}

// TestVMsWithoutEnd: a server that never comes to the end of its list is given up at a bound.
func TestVMsWithoutEnd(t *testing.T) {
	if testing.Short() {
		t.Skip("it reads a hundred thousand VMs")
	}
	told := make(chan int, 1000)
	n := 0
	spec := impostorVCenter(t, map[string]func(string) string{"WaitForUpdatesEx": func(string) string {
		var page strings.Builder
		page.WriteString(`<returnval><version>1</version><filterSet><filter type="PropertyFilter">r</filter>`)
		for range 1000 {
			n++
			fmt.Fprintf(&page, `<objectSet><kind>enter</kind><obj type="VirtualMachine">vm-%d</obj><changeSet><name>name</name><op>assign</op><val xsi:type="xsd:string">vm%d</val></changeSet></objectSet>`, n, n)
		}
		page.WriteString(`</filterSet><truncated>true</truncated></returnval>`)
		told <- n
		return page.String()
	}})
	_, err := via(t, dial(t, "vcenter", spec), "web01").Probe(contracttest.Within(t, time.Minute))
	require.ErrorContains(t, err, "it reports more than 100000 objects: use an account that sees fewer")
	most := 0
	for len(told) > 0 {
		most = max(most, <-told)
	}
	require.Greater(t, most, maxObjects)
}

// TestWhatIsTooMuchIsAskedForInParts: each object is read once, however few a server can tell of in a sane answer.
func TestWhatIsTooMuchIsAskedForInParts(t *testing.T) {
	var asked []int
	answer := func(request string, atMost int) string {
		var text strings.Builder
		hosts := strings.Split(request, `<obj type="HostSystem">`)[1:]
		if asked = append(asked, len(hosts)); len(hosts) > atMost {
			return "<returnval>" + strings.Repeat("<a/>", largeRoom.parts) + "</returnval>"
		}
		for _, h := range hosts {
			id, _, _ := strings.Cut(h, "<")
			fmt.Fprintf(&text, `<objects><obj type="HostSystem">%s</obj></objects>`, id)
		}
		return "<returnval>" + text.String() + "</returnval>"
	}
	atMost := 3
	c := dialAt(t, defaultPace, "vcenter", impostorVCenter(t,
		map[string]func(string) string{"RetrievePropertiesEx": func(request string) string { return answer(request, atMost) }}))
	var refs, seen []ref
	for i := range 20 {
		refs = append(refs, ref{Type: "HostSystem", Value: fmt.Sprintf("host-%d", i)})
	}
	read := func() error {
		return c.readAll(contracttest.Within(t, time.Minute), "HostSystem", refs, []string{"name"},
			func(o types.ObjectContent) { seen = append(seen, o.Obj) })
	}
	require.NoError(t, read())
	require.Equal(t, refs, seen)
	require.Equal(t, []int{20, 10, 5, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2}, asked)
	asked, atMost = nil, 0
	require.ErrorIs(t, read(), errBeyond)
	require.Equal(t, []int{20, 10, 5, 2, 1}, asked)
}

// TestFoldersInEachOther: a path that never comes to its root ends all the same.
func TestFoldersInEachOther(t *testing.T) {
	t.Parallel()
	tables := newTables()
	folder := func(name, parent string) types.ObjectUpdate {
		return types.ObjectUpdate{
			Kind: types.ObjectUpdateKindEnter, Obj: ref{Type: "Folder", Value: name},
			ChangeSet: []types.PropertyChange{
				{Name: "name", Val: name}, {Name: "parent", Val: ref{Type: "Folder", Value: parent}},
			},
		}
	}
	tables.apply(folder("a", "b"))
	tables.apply(folder("b", "a"))
	at := ref{Type: "Folder", Value: "a"}
	require.Len(t, tables.folders(&vm{parent: at}), maxDepth+1)
	require.True(t, tables.inFolder(at, "b"))
	require.True(t, tables.inFolder(at, "a/b"))
	require.False(t, tables.inFolder(at, "c"))
	require.False(t, tables.inFolder(at, "/b"))

	tables.apply(types.ObjectUpdate{Obj: ref{Type: "VirtualMachine", Value: strings.Repeat("x", maxLabel)}})
	require.Empty(t, tables.vms, "an id that is far too long is none")
	tables.apply(types.ObjectUpdate{
		Obj:       ref{Type: "VirtualMachine", Value: "vm-1"},
		ChangeSet: []types.PropertyChange{{Name: "name", Val: strings.Repeat("x", 1<<20)}},
	})
	for _, m := range tables.vms {
		require.Len(t, m.name, maxLabel)
	}
}

// TestNamesWithoutEnd: objects are given up once their names are too long together, and what has gone weighs nothing.
func TestNamesWithoutEnd(t *testing.T) {
	t.Parallel()
	tables := newTables()
	var stores types.ArrayOfManagedObjectReference
	for range 2 * maxStores {
		stores.ManagedObjectReference = append(stores.ManagedObjectReference,
			ref{Type: "Datastore", Value: strings.Repeat("x", maxLabel-len("Datastore"))})
	}
	told := 0
	for ; tables.excess() == nil; told++ {
		tables.apply(types.ObjectUpdate{
			Obj:       ref{Type: "VirtualMachine", Value: fmt.Sprint(told)},
			ChangeSet: []types.PropertyChange{{Name: "datastore", Val: stores}},
		})
		require.Less(t, told, 1000)
	}
	require.ErrorIs(t, tables.excess(), errBeyond)
	require.Less(t, cap(tables.vms[ref{Type: "VirtualMachine", Value: "0"}].stores), 2*maxStores)
	for i := range told {
		tables.apply(types.ObjectUpdate{Kind: types.ObjectUpdateKindLeave, Obj: ref{Type: "VirtualMachine", Value: fmt.Sprint(i)}})
	}
	for _, o := range []types.ObjectUpdate{
		{Obj: ref{Type: "HostSystem", Value: "h"}, ChangeSet: []types.PropertyChange{{Name: "name", Val: "esx"}}},
		{Obj: ref{Type: "Folder", Value: "f"}, ChangeSet: []types.PropertyChange{{Name: "name", Val: "Lab"}}},
		{Obj: ref{Type: "Datastore", Value: "d"}, ChangeSet: []types.PropertyChange{{Name: "name", Val: "tank"}}},
		{Obj: ref{Type: "ClusterComputeResource", Value: "c"}, ChangeSet: []types.PropertyChange{{Name: "name", Val: "lab"}}},
	} {
		before := tables.weight
		tables.apply(o)
		require.Greater(t, tables.weight, before, o.Obj.Type)
		tables.apply(o)
		o.Kind, o.ChangeSet = types.ObjectUpdateKindLeave, nil
		tables.apply(o)
		require.Equal(t, before, tables.weight, o.Obj.Type)
	}
	require.Zero(t, tables.weight)
}

// TestAnswersThatMakeNoSense: what is no answer to the question is an error, and the daemon goes on.
func TestAnswersThatMakeNoSense(t *testing.T) {
	for what, text := range map[string]string{
		"nothing":           soapHead + soapTail,
		"another answer":    soapHead + `<LoginResponse xmlns="urn:vim25"/>` + soapTail,
		"the half of one":   soapHead + `<RetrieveServiceContentResponse xmlns="urn:vim25"><returnval>`,
		"HTML":              `<!DOCTYPE html><html><head><meta charset="utf-8"><title>Sign in</title></head></html>`,
		"no sessions":       soapHead + `<RetrieveServiceContentResponse xmlns="urn:vim25"><returnval><viewManager type="ViewManager">v</viewManager></returnval></RetrieveServiceContentResponse>` + soapTail,
		"a fault as a text": soapHead + `<e:Fault><detail><f xsi:type="NoPermission"><faultCause><fault xsi:type="xsd:string">x</fault></faultCause></f></detail></e:Fault>` + soapTail,
	} {
		t.Run(what, func(t *testing.T) {
			n := via(t, dial(t, "vcenter", impostor(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) })),
				"web01")
			_, err := n.Probe(contracttest.Within(t, 5*time.Second))
			require.ErrorIs(t, err, adapter.ErrUnreachable)
			require.ErrorContains(t, err, checkURL)
		})
	}
}

// TestDisksCutShort: govmomi reads bytes for ever once the connection is gone, and disks are full of them.
func TestDisksCutShort(t *testing.T) {
	const disks = soapHead + `<RetrievePropertiesExResponse xmlns="urn:vim25"><returnval><objects><obj type="HostSystem">h</obj><propSet><name>config.storageDevice.scsiLun</name>` +
		`<val xsi:type="ArrayOfScsiLun"><ScsiLun xsi:type="HostScsiDisk"><key>k</key><standardInquiry>1`
	c := dial(t, "vcenter", impostor(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000000")
		_, _ = io.WriteString(w, disks)
	}))
	_, err := ask(contracttest.Within(t, 5*time.Second), c.client())
	require.ErrorContains(t, err, "unexpected EOF")
}
