package vsphere

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"runtime"
	"runtime/metrics"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
	"github.com/vmware/govmomi/vim25/xml"

	"ebbtide/internal/adapter/contracttest"
)

// endless answers every request with head, and then with rest for ever. A # in rest is another number each time.
func endless(head, rest string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, err := io.WriteString(w, head)
		block := []byte(strings.Repeat(rest, 1+(64<<10)/len(rest)))
		for n := 0; err == nil && r.Context().Err() == nil; n++ {
			if strings.Contains(rest, "#") {
				block = []byte(strings.ReplaceAll(rest, "#", strconv.Itoa(n)))
			}
			_, err = w.Write(block)
		}
	}
}

// scales weigh the heap whenever a client has read another 4 MB, and before it is told that there is no more. Whoever
// reads waits meanwhile, so that what is weighed is what was made of the bytes so far, and no garbage.
type scales struct {
	http.RoundTripper
	empty, most uint64 // bytes
}

func put(client *soap.Client) *scales {
	s := &scales{RoundTripper: client.Transport, empty: onHeap()}
	client.Transport = s
	return s
}

func (s *scales) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := s.RoundTripper.RoundTrip(req)
	if err == nil {
		resp.Body = &weighed{ReadCloser: resp.Body, scales: s}
	}
	return resp, err
}

// megabytes is the most that was live at once beyond what was there before.
func (s *scales) megabytes() float64 { return float64(s.most-min(s.most, s.empty)) / (1 << 20) }

type weighed struct {
	io.ReadCloser
	scales *scales
	since  int
}

func (w *weighed) Read(p []byte) (int, error) {
	n, err := w.ReadCloser.Read(p)
	if w.since += n; w.since >= 4<<20 || err != nil {
		w.since = 0
		w.scales.most = max(w.scales.most, onHeap())
	}
	return n, err
}

// onHeap gives the bytes that a collection leaves on the heap.
func onHeap() uint64 {
	runtime.GC()
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// mostLive is what the worst answer may leave on the heap, in MB, while it is read.
const mostLive = 128

// TestWhatAnAnswerCosts: of whatever shape an answer without end is, it is given up before it has filled the memory. The shapes
// have an eighth of the room, to be quick, and so may cost an eighth; the costliest has all of it.
func TestWhatAnAnswerCosts(t *testing.T) {
	const (
		update  = soapHead + `<WaitForUpdatesExResponse xmlns="urn:vim25"><returnval>`
		object  = update + `<filterSet><objectSet>`
		value   = object + `<changeSet><val xsi:type=`
		mistake = update + `<filterSet><missingSet><fault><fault xsi:type=`
	)
	for _, shape := range []struct{ what, head, rest string }{
		{"depth", update, "<a>"},
		{"depth and namespaces", update, `<a xmlns="b">`},
		{"depth of faults", mistake + `"MethodFault">`, `<faultCause><fault xsi:type="NoPermission">`},
		{"empty elements", update, "<a/>"},
		{"attributes", update + "<a", ` a=""`},
		{"attributes of many elements", update, `<a a="" b="" c="" d="" e="" f=""/>`},
		{"namespaces", update + "<a", ` xmlns:a#=""`},
		{"a text that is read", object + "<kind>", "x"},
		{"a text that is not", update + "<a>", "x"},
		{"CDATA", object + "<kind><![CDATA[", "</"},
		{"a comment", update + "<!--", "<"},
		{"an instruction", update + "<?x ", "x"},
		{"a directive", update + "<!", "x"},
		{"the name of an element", update + "<", "x"},
		{"a value of an attribute", update + `<a a="`, "x"},
		{"filters", update, "<filterSet/>"},
		{"objects", update + "<filterSet>", "<objectSet/>"},
		{"missing objects", update + "<filterSet>", "<missingSet/>"},
		{"changes", object, "<changeSet/>"},
		{"missing properties", object, "<missingSet/>"},
		{"references", value + `"ArrayOfManagedObjectReference">`, "<ManagedObjectReference/>"},
		{"disks", value + `"ArrayOfScsiLun">`, "<ScsiLun/>"},
		{"targets", value + `"HostScsiTopology"><adapter>`, "<target/>"},
		{"mounts", value + `"ArrayOfDatastoreHostMount">`, "<DatastoreHostMount/>"},
		{"power-ons", value + `"ClusterPowerOnVmResult">`, "<notAttempted/>"},
		{"guests' cards", value + `"ArrayOfGuestNicInfo">`, "<GuestNicInfo/>"},
		{"clusters", object, `<changeSet><val xsi:type="ClusterConfigInfoEx"/></changeSet>`},
		{"VMs' configurations", object, `<changeSet><val xsi:type="VirtualMachineConfigInfo"/></changeSet>`},
		{"long records that nobody reads", value + `"ArrayOfVsanHostDiskMapping">`, "<VsanHostDiskMapping/>"},
		{"the longest faults", object, `<missingSet><fault><fault xsi:type="NotSupportedDeviceForFT"/></fault></missingSet>`},
		{"failures of a fault", mistake + `"ProfileUpdateFailed">`, "<failure/>"},
	} {
		t.Run(shape.what, func(t *testing.T) {
			require.Less(t, cost(t, shape.head, shape.rest, room{largeRoom.bytes / 8, largeRoom.parts / 8}), mostLive/8.0)
		})
	}
	t.Run("all of the room", func(t *testing.T) {
		require.Less(t, cost(t, mistake+`"ProfileUpdateFailed">`, "<failure/>", largeRoom), float64(mostLive))
	})
	for _, shape := range []struct{ what, head, rest string }{
		{"objects in JSON", `{"value":[{}`, ",{}"},
		{"a text in JSON", `{"value":["`, "x"},
	} {
		t.Run(shape.what, func(t *testing.T) {
			client := rest.NewClient(&vim25.Client{Client: dial(t, "vcenter", impostor(t, endless(shape.head, shape.rest))).client()})
			bound(client.Client)
			heap := put(client.Client)
			_, err := tags.NewManager(client).ListAttachedObjects(within(contracttest.Within(t, time.Minute), tagsRoom),
				"urn:vmomi:InventoryServiceTag:1:GLOBAL")
			require.ErrorIs(t, err, errBeyond)
			require.Less(t, heap.megabytes(), float64(mostLive))
		})
	}
}

// cost gives what an answer to the watch leaves on the heap, in MB, until it is refused.
func cost(t *testing.T, head, rest string, r room) float64 {
	t.Helper()
	client := dial(t, "vcenter", impostor(t, endless(head, rest))).client()
	heap := put(client)
	_, err := methods.WaitForUpdatesEx(within(contracttest.Within(t, 5*time.Minute), r), caller{client}, &types.WaitForUpdatesEx{})
	require.ErrorIs(t, err, errBeyond)
	t.Logf("at most %.1f MB: %s", heap.megabytes(), err)
	return heap.megabytes()
}

// TestNoTrickHidesElements: the scanner counts at least what the decoder makes of a text, whatever is around it.
func TestNoTrickHidesElements(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`<a><b/></a>`, `<a b='"' c=">"><d/></a>`, `<a b="/"><c/></a>`, "<a\n b = '1'\n/>",
		`<?x ><a "?><b/>`, `<!-- ><a " --><b c=''/>`, `<a><![CDATA[ ><a ' ]]><b/><c/></a>`, `<!x "<" ><b/>`,
		`<a>b/>c</a><d/>`, `<a>='</a><b c='d'/>`,
	} {
		parts, tokens := 0, xml.NewDecoder(strings.NewReader(text))
		for {
			token, err := tokens.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err, text)
			if e, ok := token.(xml.StartElement); ok {
				parts += 1 + len(e.Attr)
			}
		}
		var whole, pieces scanner
		require.GreaterOrEqual(t, whole.scan([]byte(text)), parts, text)
		counted := 0
		for _, c := range []byte(text) {
			counted += pieces.scan([]byte{c})
		}
		require.GreaterOrEqual(t, counted, parts, text)
		require.Equal(t, whole, pieces, text)
	}
	var s scanner
	require.Equal(t, 6, s.scan([]byte(`<?xml version="1.0"?><a b="c/>" d=''><e/>f=<g h='/'></g></a>`)))
	require.Zero(t, s.depth)
}

// TestRoomForALargeEstate: what the largest estates that vSphere allows have to tell is read, and leaves room.
func TestRoomForALargeEstate(t *testing.T) {
	for _, answer := range []struct {
		what    string
		objects int
		of      types.ObjectContent
		check   func(t *testing.T, first types.ObjectContent)
	}{
		{"1,000 VMs that are probed at once, each with a question", 1000, largeVM(0), nil},
		{"100 VMs with 256 datastores each", 100, largeVM(256), func(t *testing.T, first types.ObjectContent) {
			var m vm
			for _, p := range first.PropSet {
				m.set(p.Name, p.Val)
			}
			require.Len(t, m.stores, 256)
			require.NotEmpty(t, m.question)
			require.Equal(t, "com.vmware.vim.eam", m.managedBy)
			require.Equal(t, types.VirtualMachinePowerStatePoweredOn, m.power)
		}},
		{"a host with 1,024 disks", 1, largeHost(1024), func(t *testing.T, first types.ObjectContent) {
			addresses := first.PropSet[1].Val.(topology).addresses(first.PropSet[0].Val.(luns))
			require.Len(t, addresses, 1024)
			require.Equal(t, []string{"10.0.1.40", "10.0.1.41"}, addresses["naa.60014050000000000000000000000000"])
		}},
		{"256 datastores that 96 hosts have mounted", 256, largeStore(96), func(t *testing.T, first types.ObjectContent) {
			require.Len(t, first.PropSet[1].Val.(mounts).DatastoreHostMount, 96)
		}},
	} {
		t.Run(answer.what, func(t *testing.T) {
			body := methods.RetrievePropertiesExBody{Res: &types.RetrievePropertiesExResponse{Returnval: new(types.RetrieveResult)}}
			for i := range answer.objects {
				answer.of.Obj = ref{Type: "VirtualMachine", Value: fmt.Sprintf("vm-%d", i)}
				body.Res.Returnval.Objects = append(body.Res.Returnval.Objects, answer.of)
			}
			text, err := xml.Marshal(soap.Envelope{Body: body})
			require.NoError(t, err)
			var s scanner
			parts := s.scan(text)
			t.Logf("%.1f MB, %d elements and attributes", float64(len(text))/(1<<20), parts)
			require.Less(t, len(text), largeRoom.bytes*3/4)
			require.Less(t, parts, largeRoom.parts*3/4)
			require.Zero(t, s.depth)

			c := dial(t, "vcenter", impostor(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(text) }))
			objects, err := ask(contracttest.Within(t, time.Minute), c.client())
			require.NoError(t, err)
			require.Len(t, objects, answer.objects)
			if answer.check != nil {
				answer.check(t, objects[0])
			}
		})
	}
}

func ask(ctx context.Context, client *soap.Client) ([]types.ObjectContent, error) {
	res, err := methods.RetrievePropertiesEx(within(ctx, largeRoom), caller{client}, &types.RetrievePropertiesEx{})
	if err != nil {
		return nil, err
	}
	return res.Returnval.Objects, nil
}

// largeVM has all that the watch asks for.
func largeVM(datastores int) types.ObjectContent {
	var stores types.ArrayOfManagedObjectReference
	for i := range datastores {
		stores.ManagedObjectReference = append(stores.ManagedObjectReference,
			ref{Type: "Datastore", Value: fmt.Sprintf("datastore-%d", 10_000+i)})
	}
	question := types.VirtualMachineQuestionInfo{Id: "1", Text: strings.Repeat("Is it moved or copied? ", 10)}
	for range 5 {
		question.Choice.ChoiceInfo = append(question.Choice.ChoiceInfo,
			&types.ElementDescription{Key: "1", Description: types.Description{Label: "I copied it", Summary: "I copied it"}})
		question.Message = append(question.Message, types.VirtualMachineMessage{Id: "msg.uuid.altered", Text: question.Text})
	}
	return types.ObjectContent{PropSet: []types.DynamicProperty{
		{Name: "name", Val: strings.Repeat("n", 80)},
		{Name: "parent", Val: ref{Type: "Folder", Value: "group-v1234567"}},
		{Name: "datastore", Val: stores},
		{Name: "runtime.powerState", Val: types.VirtualMachinePowerStatePoweredOn},
		{Name: "runtime.connectionState", Val: types.VirtualMachineConnectionStateConnected},
		{Name: "runtime.host", Val: ref{Type: "HostSystem", Value: "host-1234567"}},
		{Name: "runtime.question", Val: question},
		{Name: "config.instanceUuid", Val: "503c2f5d-7a3b-0d1e-9a4b-1c2d3e4f5a6b"},
		{Name: "config.template", Val: false},
		{Name: "config.managedBy", Val: types.ManagedByInfo{ExtensionKey: "com.vmware.vim.eam", Type: "cluster-agent"}},
		{Name: "config.ftInfo", Val: types.FaultTolerancePrimaryConfigInfo{FaultToleranceConfigInfo: types.FaultToleranceConfigInfo{Role: 1}}},
		{Name: "guest.toolsRunningStatus", Val: "guestToolsRunning"},
	}}
}

// largeHost has disks as a host describes them, each behind an iSCSI target with two addresses.
func largeHost(disks int) types.ObjectContent {
	var all types.ArrayOfScsiLun
	var target types.HostScsiTopologyTarget
	target.Transport = &types.HostInternetScsiTargetTransport{
		IScsiName: "iqn.2005-10.org.freenas.ctl:tank",
		Address:   []string{"10.0.1.40:3260", "10.0.1.41:3260"},
	}
	for i := range disks {
		id := fmt.Sprintf("6001405%025d", i)
		key := "key-vim.host.ScsiDisk-0200000000" + id
		name := types.ScsiLunDurableName{Namespace: "GENERIC_VPD", NamespaceId: 5, Data: make([]byte, 60)}
		all.ScsiLun = append(all.ScsiLun, &types.HostScsiDisk{DevicePath: "/vmfs/devices/disks/naa." + id, ScsiLun: types.ScsiLun{
			HostDevice: types.HostDevice{DeviceName: "/vmfs/devices/disks/naa." + id, DeviceType: "disk"},
			Key:        key, Uuid: "0200000000" + id, CanonicalName: "naa." + id, DisplayName: "FreeNAS iSCSI Disk (naa." + id + ")",
			LunType: "disk", Vendor: "FreeNAS", Model: "iSCSI Disk", Revision: "0123", ScsiLevel: 6, SerialNumber: "unavailable",
			Descriptor: []types.ScsiLunDescriptor{
				{Quality: "highQuality", Id: "naa." + id},
				{Quality: "highQuality", Id: "vml.0200000000" + id},
				{Quality: "highQuality", Id: "0200000000" + id},
			},
			AlternateName: []types.ScsiLunDurableName{name, name}, StandardInquiry: make([]byte, 96),
			OperationalState: []string{"ok"}, VStorageSupport: "vStorageSupported",
			Capabilities: &types.ScsiLunCapabilities{UpdateDisplayNameSupported: true},
		}})
		target.Lun = append(target.Lun, types.HostScsiTopologyLun{
			Key: fmt.Sprintf("key-vim.host.ScsiTopology.Lun-%d", i),
			Lun: int32(i), ScsiLun: key,
		})
	}
	return types.ObjectContent{PropSet: []types.DynamicProperty{
		{Name: "config.storageDevice.scsiLun", Val: all},
		{
			Name: "config.storageDevice.scsiTopology",
			Val:  types.HostScsiTopology{Adapter: []types.HostScsiTopologyInterface{{Target: []types.HostScsiTopologyTarget{target}}}},
		},
	}}
}

// largeStore is a datastore that hosts have mounted.
func largeStore(hosts int) types.ObjectContent {
	var all types.ArrayOfDatastoreHostMount
	for i := range hosts {
		all.DatastoreHostMount = append(all.DatastoreHostMount, types.DatastoreHostMount{
			Key: ref{Type: "HostSystem", Value: fmt.Sprintf("host-%d", 10_000+i)},
			MountInfo: types.HostMountInfo{
				Path: "/vmfs/volumes/5f3c1a2b-0d1e2f3a-4b5c-6d7e8f9a0b1c", AccessMode: "readWrite",
				Mounted: new(true), Accessible: new(true),
			},
		})
	}
	return types.ObjectContent{PropSet: []types.DynamicProperty{{Name: "name", Val: "datastore"}, {Name: "host", Val: all}}}
}

// TestWhatIsReadIsShort: no record that an answer can have many of is long, or holds bytes, which govmomi reads for ever
// once the connection is gone.
func TestWhatIsReadIsShort(t *testing.T) {
	t.Parallel()
	seen := make(map[reflect.Type]bool)
	var look func(string, reflect.Type)
	look = func(name string, r reflect.Type) {
		if seen[r] || r.PkgPath() == "time" {
			return
		}
		seen[r] = true
		require.NotEqual(t, reflect.TypeFor[types.ByteSlice](), r, name)
		require.LessOrEqual(t, r.Size(), uintptr(128), "%s: %s", name, r)
		switch r.Kind() {
		case reflect.Pointer, reflect.Slice:
			look(name, r.Elem())
		case reflect.Struct:
			for field := range r.Fields() {
				look(name, field.Type)
			}
		default:
		}
	}
	for name, r := range readAs {
		look(name, r)
	}
}
