package vsphere

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/vmware/govmomi/vim25/types"
)

// agentsMode says what becomes of a cluster's vCLS VMs.
type agentsMode uint8

const (
	noAgents agentsMode = iota // this vCenter has none
	agentsOn                   // vCenter keeps them
	retreat                    // they are sent away
)

var agentsNames = [...]string{"none", "on", "retreat"}

// features are what vCenter does by itself in a cluster.
type features struct {
	ha     bool
	drs    types.DrsBehavior // "": off
	levels bool              // VMs may have DRS levels of their own
	dpm    bool
	agents agentsMode
}

// quiet reports whether nothing of it starts, moves or restarts a VM, or puts a host on or off.
func (f features) quiet() bool {
	still := f.drs == "" || f.drs == types.DrsBehaviorManual && !f.levels
	return !f.ha && still && !f.dpm && f.agents != agentsOn
}

// quieted is f with all of that off. DRS is never turned off: that would remove the cluster's resource pools.
func (f features) quieted() features {
	f.ha, f.dpm = false, false
	if f.drs != "" {
		f.drs, f.levels = types.DrsBehaviorManual, false
	}
	if f.agents == agentsOn {
		f.agents = retreat
	}
	return f
}

// usual is what a cluster gets back of which nobody knows what it had: HA, DRS as it is set up by default, vCLS. DPM,
// which powers hosts off, stays as it is.
func (f features) usual() features {
	f.ha = true
	if f.drs != "" {
		f.drs, f.levels = types.DrsBehaviorFullyAutomated, true
	}
	if f.agents == retreat {
		f.agents = agentsOn
	}
	return f
}

func (f features) String() string {
	drs := string(f.drs)
	if drs == "" {
		drs = "off"
	}
	return fmt.Sprintf("ha=%s drs=%s levels=%s dpm=%s vcls=%s", onOff(f.ha), drs, onOff(f.levels), onOff(f.dpm), agentsNames[f.agents])
}

func onOff(b bool) string {
	if b {
		return "on"
	}
	return "off"
}

// parseFeatures reads what String wrote.
func parseFeatures(text string) (features, error) {
	var f features
	seen := map[string]bool{}
	for word := range strings.FieldsSeq(text) {
		key, value, _ := strings.Cut(word, "=")
		known := value == "on" || value == "off"
		switch key {
		case "ha":
			f.ha = value == "on"
		case "levels":
			f.levels = value == "on"
		case "dpm":
			f.dpm = value == "on"
		case "drs":
			if f.drs = types.DrsBehavior(value); value == "off" {
				f.drs = ""
			}
			known = f.drs == "" || slices.Contains(f.drs.Strings(), value)
		case "vcls":
			known = false
			for mode, name := range agentsNames {
				if name == value {
					f.agents, known = agentsMode(mode), true
				}
			}
		default:
			known = false
		}
		if !known || seen[key] {
			return features{}, fmt.Errorf("%q is not what was noted of a cluster", word)
		}
		seen[key] = true
	}
	if len(seen) != 5 {
		return features{}, fmt.Errorf("%q is not all that was noted of a cluster", text)
	}
	return f, nil
}

// spec is what makes a cluster that has f have what to has. The vCLS VMs are in it if modern.
func (f features) spec(to features, modern bool) *types.ClusterConfigSpecEx {
	s := new(types.ClusterConfigSpecEx)
	if f.ha != to.ha {
		s.DasConfig = &types.ClusterDasConfigInfo{Enabled: new(to.ha)}
	}
	if f.drs != to.drs || f.drs != "" && f.levels != to.levels {
		s.DrsConfig = &types.ClusterDrsConfigInfo{
			Enabled: new(to.drs != ""), DefaultVmBehavior: to.drs,
			EnableVmBehaviorOverrides: new(to.levels),
		}
	}
	if f.dpm != to.dpm {
		s.DpmConfig = &types.ClusterDpmConfigInfo{Enabled: new(to.dpm)}
	}
	if modern && f.agents != to.agents {
		mode := types.ClusterSystemVMsConfigInfoDeploymentModeSYSTEM_MANAGED
		if to.agents == retreat {
			mode = types.ClusterSystemVMsConfigInfoDeploymentModeABSENT
		}
		s.SystemVMsConfig = &types.ClusterSystemVMsConfigSpec{DeploymentMode: string(mode)}
	}
	return s
}

// release is a version of the API, "8.0.2.0", as numbers.
type release []int

func parseRelease(text string) release {
	var r release
	for part := range strings.SplitSeq(text, ".") {
		n, err := strconv.Atoi(part)
		if err != nil {
			break
		}
		r = append(r, n)
	}
	return r
}

// The releases from which vSphere has vCLS VMs (7.0 U1), and from which the cluster's own configuration says what
// becomes of them (8.0 U2); in between, an advanced setting of vCenter does.
var (
	withAgents = release{7, 0, 1, 1}
	withMode   = release{8, 0, 2, 0}
)
