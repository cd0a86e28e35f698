package vspheresim_test

import (
	"fmt"
	"testing"
	"time"

	"ebbtide/internal/adapter/vsphere/vspheresim"

	"github.com/stretchr/testify/require"
)

func TestBig(t *testing.T) {
	var vms []vspheresim.VM
	for i := range 1000 {
		vms = append(vms, vspheresim.VM{Name: fmt.Sprintf("vm%04d", i), Host: i % 4, Folder: "Lab/web", Tags: []string{"tier/app"}})
	}
	vms = append(vms, vspheresim.VM{Name: "vm0001", Folder: "Other"})
	t0 := time.Now()
	s, err := vspheresim.New(vspheresim.Options{HostsPerCluster: 4, VMs: vms})
	require.NoError(t, err)
	fmt.Println("new", time.Since(t0))
	t0 = time.Now()
	d, err := s.Direct("esx02")
	require.NoError(t, err)
	fmt.Println("direct", time.Since(t0), d.URL())
	s.Close()
}
