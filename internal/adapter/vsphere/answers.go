package vsphere

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
	"github.com/vmware/govmomi/vim25/xml"
)

// errNonsense marks an answer that is no answer to what was asked.
var errNonsense = errors.New("its answer makes no sense")

func nonsense(why string) error { return fmt.Errorf("%w: %s: %s", errNonsense, why, checkURL) }

// caller makes calls to a server that may answer with anything.
type caller struct{ *soap.Client }

// RoundTrip makes one call. govmomi's decoder panics where a type is not one of those that may stand there, and govmomi's
// methods use the result of a call that has none.
func (c caller) RoundTrip(ctx context.Context, req, res soap.HasFault) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = nonsense(fmt.Sprint(p))
		}
	}()
	err = c.Client.RoundTrip(ctx, req, res)
	if syntax, other := new(xml.SyntaxError), xml.UnmarshalError(""); errors.As(err, &syntax) || errors.As(err, &other) {
		return nonsense(err.Error())
	}
	if result := reflect.ValueOf(res).Elem().FieldByName("Res"); err == nil && result.IsValid() && result.IsNil() {
		return nonsense("it holds neither a result nor a fault")
	}
	return err
}

// newVim asks a server what it is.
func newVim(ctx context.Context, client *soap.Client) (*vim25.Client, error) {
	client.Namespace, client.Version = "urn:"+vim25.Namespace, vim25.Version
	vc := &vim25.Client{Client: client, RoundTripper: caller{client}}
	content, err := methods.GetServiceContent(ctx, vc)
	if err != nil {
		return nil, err
	}
	if content.SessionManager == nil || content.ViewManager == nil {
		return nil, nonsense("it has no sessions or no views")
	}
	vc.ServiceContent = content
	return vc, nil
}

// What is read of answers that are long. vSphere's own records hold a hundred times as much, and govmomi reads the bytes in
// some of them in a loop that has no end when the connection breaks.
type (
	clusterConfig struct {
		SystemVMsConfig struct {
			DeploymentMode string `xml:"deploymentMode"`
		} `xml:"systemVMsConfig"`
		DasConfig struct {
			Enabled bool `xml:"enabled"`
		} `xml:"dasConfig"`
		DrsConfig struct {
			Enabled                   bool              `xml:"enabled"`
			EnableVMBehaviorOverrides *bool             `xml:"enableVmBehaviorOverrides"`
			DefaultVMBehavior         types.DrsBehavior `xml:"defaultVmBehavior"`
		} `xml:"drsConfig"`
		DpmConfigInfo struct {
			Enabled bool `xml:"enabled"`
		} `xml:"dpmConfigInfo"`
		VsanConfigInfo struct {
			Enabled bool `xml:"enabled"`
		} `xml:"vsanConfigInfo"`
	}
	vsanConfig struct {
		Enabled bool `xml:"enabled"`
	}
	luns struct {
		ScsiLun []struct {
			Key           string `xml:"key"`
			CanonicalName string `xml:"canonicalName"`
		}
	}
	topology struct {
		Adapter []struct {
			Target []struct {
				Lun []struct {
					ScsiLun string `xml:"scsiLun"`
				} `xml:"lun"`
				Transport struct {
					Address []string `xml:"address"` // iSCSI only
				} `xml:"transport"`
			} `xml:"target"`
		} `xml:"adapter"`
	}
	mounts struct {
		DatastoreHostMount []struct {
			Key       ref `xml:"key"`
			MountInfo struct {
				Accessible *bool `xml:"accessible"`
			} `xml:"mountInfo"`
		}
	}
	nics struct {
		GuestNicInfo []struct {
			IPAddress []string `xml:"ipAddress"`
		}
	}
	nasStore struct {
		Nas struct {
			RemoteHost      string   `xml:"remoteHost"`
			RemoteHostNames []string `xml:"remoteHostNames"`
		} `xml:"nas"`
	}
	vmfsStore struct {
		Vmfs struct {
			Extent []struct {
				DiskName string `xml:"diskName"`
			} `xml:"extent"`
		} `xml:"vmfs"`
	}
	powerOns struct {
		Attempted []struct {
			VM   ref  `xml:"vm"`
			Task *ref `xml:"task"`
		} `xml:"attempted"`
		NotAttempted []struct {
			VM    ref `xml:"vm"`
			Fault struct {
				LocalizedMessage string `xml:"localizedMessage"`
			} `xml:"fault"`
		} `xml:"notAttempted"`
		Recommendations []struct{} `xml:"recommendations"`
	}
	question struct {
		Text string `xml:"text"`
	}
)

// readAs are the types that are read where vSphere's API leaves open what stands there, by their names in it. Faults are read
// too, and strings and numbers; anything else is passed over.
var readAs = map[string]reflect.Type{
	"ClusterConfigInfoEx":        reflect.TypeFor[clusterConfig](),
	"VsanHostConfigInfo":         reflect.TypeFor[vsanConfig](),
	"ArrayOfScsiLun":             reflect.TypeFor[luns](),
	"HostScsiTopology":           reflect.TypeFor[topology](),
	"ArrayOfDatastoreHostMount":  reflect.TypeFor[mounts](),
	"ArrayOfGuestNicInfo":        reflect.TypeFor[nics](),
	"NasDatastoreInfo":           reflect.TypeFor[nasStore](),
	"VmfsDatastoreInfo":          reflect.TypeFor[vmfsStore](),
	"ClusterPowerOnVmResult":     reflect.TypeFor[powerOns](),
	"VirtualMachineQuestionInfo": reflect.TypeFor[question](),

	"ManagedObjectReference":            reflect.TypeFor[ref](),
	"ArrayOfManagedObjectReference":     reflect.TypeFor[types.ArrayOfManagedObjectReference](),
	"VirtualMachinePowerState":          reflect.TypeFor[types.VirtualMachinePowerState](),
	"VirtualMachineConnectionState":     reflect.TypeFor[types.VirtualMachineConnectionState](),
	"HostSystemPowerState":              reflect.TypeFor[types.HostSystemPowerState](),
	"HostSystemConnectionState":         reflect.TypeFor[types.HostSystemConnectionState](),
	"ManagedByInfo":                     reflect.TypeFor[types.ManagedByInfo](),
	"FaultToleranceConfigInfo":          reflect.TypeFor[types.FaultToleranceConfigInfo](),
	"FaultToleranceSecondaryConfigInfo": reflect.TypeFor[types.FaultToleranceSecondaryConfigInfo](),
	"OptionValue":                       reflect.TypeFor[types.OptionValue](),
	"BaseOptionValue":                   reflect.TypeFor[types.OptionValue](),
	"LocalizedMethodFault":              reflect.TypeFor[types.LocalizedMethodFault](),
}

// typeOf tells the decoder what a type of the API is read as.
func typeOf(name string) (reflect.Type, bool) {
	if t, ok := readAs[strings.TrimPrefix(name, "vim25:")]; ok {
		return t, true
	}
	t, ok := types.TypeFunc()(name)
	if !ok || !reflect.PointerTo(t).Implements(reflect.TypeFor[types.BaseMethodFault]()) {
		return nil, false
	}
	return t, true
}
