package pernixdata

import (
	"context"
	"fmt"
	"strings"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/powershell"
	"ebbtide/internal/adapter/printable"
)

// writeBack is what Get-PrnxVM has for effectivePolicy of a VM whose writes are accelerated.
const writeBack = "7"

// The cmdlets are used as published scripts use them, and not all that they print is documented: what is not understood is
// told as not proven. VMs are meant by their UUIDs, since Windows would take their names for patterns. -WaitTimeSeconds is
// left out: it waits for one VM before the next is given, and the proof is the probe's.
const (
	login = `Import-Module PrnxCli;try{$p=New-Object Management.Automation.PSCredential($i.user,(ConvertTo-SecureString $i.password -AsPlainText -Force));` +
		`Connect-PrnxServer -NameOrIPAddress $i.server -Credentials $p|Out-Null}catch{throw "no login to FVP: $_"};`
	logout = `Disconnect-PrnxServer|Out-Null;`
	// $v: the VMs that are meant; $w: those of them that write back.
	find = `$v=@(Get-PrnxVM|?{$n=$_.Name;($n -clike $i.name) -and !@($i.exclude|?{$n -clike $_})});$w=@($v|?{"$($_.effectivePolicy)" -eq '` + writeBack + `'});`

	// Only when no VM writes back is each asked for the proof: that takes a while. Since 3.1 a sample has a time.
	look powershell.Script = login + find + `$o=@{NumberOfSamples=1};if("$((Get-PrnxObject -Type PrnxMServer).buildinfo)" -gt '3.1'){$o.StartTime=0};` +
		`$r=@($v|%{$u="$($_.Uuid)";$m=@{id=$u;name=$_.Name;policy="$($_.effectivePolicy)";peers="$($_.NumWBPeers)";external="$($_.numWbExternalPeers)"};` +
		`if(!$w){try{$m.effective=Get-PrnxAccelerationPolicy -Uuid $u -Effective|Out-String;$s=@(Get-PrnxObjectStats -ObjectIdentifier $u @o);` +
		`$m.left="$($s[-1].time_to_destage)"}catch{$m.error="$_"}};$m});` + logout +
		`ConvertTo-Json -Compress -Depth 4 -InputObject @{vms=$r}`

	// One VM that fails holds up no other.
	through powershell.Script = login + find + `$f=@($w|%{$n=$_.Name;try{Set-PrnxAccelerationPolicy -Uuid "$($_.Uuid)" -WriteThrough|Out-Null}catch{"${n}: $_"}});` +
		logout + `ConvertTo-Json -Compress -InputObject @{failed=$f}`
	// Without a licence for fault domains a VM has no number of external peers, and none may be given.
	back powershell.Script = login + `$f=@($i.vms|%{$n=$_.name;$o=@{Uuid=$_.id;WriteBack=$true;NumWBPeers=[int]$_.peers};if($_.external){$o.NumWBExternalPeers=[int]$_.external};` +
		`try{Set-PrnxAccelerationPolicy @o|Out-Null}catch{"${n}: $_"}});` + logout + `ConvertTo-Json -Compress -InputObject @{failed=$f}`
)

// input is what the scripts are given, by standard input: the password stands in it.
type input struct {
	Server   string   `json:"server"`
	User     string   `json:"user"`
	Password string   `json:"password"`
	Name     string   `json:"name"`
	Exclude  []string `json:"exclude"`
	VMs      []vm     `json:"vms,omitempty"` // for back
}

// answer is what the scripts say.
type answer struct {
	VMs    []vm     `json:"vms"`    // of look
	Failed []string `json:"failed"` // of the others: the VMs that were refused, and why
}

// vm is a VM as FVP tells of it.
type vm struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Policy   string `json:"policy,omitempty"` // the effective one, as a number
	Peers    string `json:"peers"`            // that get a copy of each write
	External string `json:"external"`         // of those in other fault domains; "": FVP has no such number

	// What follows is valid where no VM writes back.
	Effective string `json:"effective,omitempty"` // the effective policy, as text
	Left      string `json:"left,omitempty"`      // seconds until its writes are destaged
	Error     string `json:"error,omitempty"`     // why the two are not known
}

var hints = []powershell.Hint{
	{
		Text: "ModuleNotFound", Means: adapter.ErrRefused,
		Say: "the machine lacks the module PrnxCli: go through the FVP management server, or install its cmdlets",
	},
	// A wrong password and a service that is still starting can't be told apart by what is documented.
	{Text: "no login to FVP", Means: adapter.ErrUnreachable, Say: "its service is not up, or username and password are not right"},
}

// run runs a script at the management server.
func (c *cache) run(ctx context.Context, s powershell.Script, vms []vm) (answer, error) {
	if c.conn.closed.Load() {
		return answer{}, fmt.Errorf("the connection %q is closed: %w", c.conn.name, adapter.ErrUnreachable)
	}
	password, err := c.conn.secrets.Secret(c.conn.spec.Password)
	if err != nil {
		return answer{}, fmt.Errorf("%w: %w", adapter.ErrRefused, err)
	}
	in := input{c.conn.spec.server(), c.conn.spec.Username, password, c.spec.glob(), append([]string{}, c.spec.Exclude...), vms}
	var out answer
	if err := s.Run(ctx, c.on, powershell.Call{Input: in, Hints: hints}, &out); err != nil {
		return answer{}, err
	}
	if n := len(out.Failed); n > 0 {
		return out, fmt.Errorf("%w: FVP refuses it for %d VMs: %s", adapter.ErrRefused, n,
			printable.Text(strings.Join(out.Failed[:min(n, 3)], "; "), 300))
	}
	return out, nil
}
