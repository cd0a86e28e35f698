package pernixdata

import (
	"fmt"

	"ebbtide/internal/manual"
	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

// byHand is typed by VM, and waits for each.
func byHand(d *schema.Node, s *CacheSpec, places func(string) manual.Endpoint) manual.Procedure {
	at, glob := places(d.Via), s.glob()
	login := []manual.Instruction{
		{Say: "In PowerShell on the FVP management server:", Type: "Import-Module PrnxCli"},
		{Type: fmt.Sprintf("Connect-PrnxServer -NameOrIPAddress %s -Credentials (Get-Credential %s)", schema.Quote(at.Address),
			schema.Quote(at.User))},
	}
	list := manual.Instruction{
		Say: "The VMs; 7 is write-back. Write down the peers of those:",
		Type: fmt.Sprintf("Get-PrnxVM | Where-Object Name -clike %s | Format-Table Name, effectivePolicy, NumWBPeers, numWbExternalPeers",
			schema.Quote(glob)),
	}
	through := append(login[:2:2], list, manual.Instruction{
		Say: "For each VM with 7:", Type: "Set-PrnxAccelerationPolicy -Name VM -WriteThrough -WaitTimeSeconds 60",
	})
	proof := append(login[:2:2],
		manual.Instruction{Say: "It says WRITE_THROUGH for each VM:", Type: "Get-PrnxAccelerationPolicy -Name VM -Effective"},
		manual.Instruction{
			Say: "And 0 for each VM (before FVP 3.1 without -StartTime 0):",
			Type: "(Get-PrnxObjectStats -ObjectIdentifier (Get-PrnxVM | Where-Object Name -ceq VM).Uuid -StartTime 0 -NumberOfSamples " +
				"1).time_to_destage",
		})
	return manual.Procedure{
		Do: map[plan.Verb][]manual.Instruction{
			plan.Protect: through,
			plan.Flush:   proof,
			plan.Unprotect: append(login[:2:2], manual.Instruction{
				Say:  "For each VM that had 7, with the numbers that were written down (without the last one if it had none):",
				Type: "Set-PrnxAccelerationPolicy -Name VM -WriteBack -NumWBPeers N -NumWBExternalPeers M -WaitTimeSeconds 60",
			}),
		},
		On:    append(login[:2:2], list),
		Clean: proof,
		Back: append(login[:2:2], manual.Instruction{
			Say:  "It says 7 for each VM that had it, with the peers that were written down:",
			Type: list.Type,
		}),
	}
}
