package hyperv

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf16"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/process"
	"ebbtide/internal/runbook"
)

// shell is a connection that runs a program on a Windows machine: of type winrm, or of type ssh.
type shell interface {
	Run(ctx context.Context, c runbook.Command, stdin string) (process.Result, error)
}

// script is a constant PowerShell script. Its arguments stand in $a, which comes as Base64 of JSON: nothing that a
// runbook or a system says is ever part of a script. It writes one JSON value.
type script string

// prelude makes an answer of every error. cmd.exe takes 8,191 characters in a line: scripts stay well below 2,000.
const prelude = `$ProgressPreference='SilentlyContinue';$ErrorActionPreference='Stop';` +
	`trap{[Console]::Out.Write((@{error="$_";id="$($_.FullyQualifiedErrorId)"}|ConvertTo-Json -Compress));exit 0};` +
	`$a=[Text.Encoding]::UTF8.GetString([Convert]::FromBase64String('%s'))|ConvertFrom-Json;`

const (
	// A VM by its Id or its name, which Get-VM itself would take for a pattern.
	findVM = `$v=@(Get-VM|?{if($a.id){"$($_.Id)" -eq $a.id}else{$_.Name -eq $a.name}});`
	oneVM  = findVM + `if($v.Count -ne 1){throw "$($v.Count) VMs of this name"};$v=$v[0];`

	lookVM  script = findVM + `ConvertTo-Json -Compress -InputObject @($v|%{@{id="$($_.Id)";name=$_.Name;state="$($_.State)"}})`
	listVMs script = `ConvertTo-Json -Compress -InputObject @(Get-VM|%{@{id="$($_.Id)";name=$_.Name;state="$($_.State)";host=$env:COMPUTERNAME}})`
	// Stop-VM would wait for the guest: this returns when the guest has taken the request.
	stopVM script = oneVM + `$c=Get-CimInstance -Namespace root/virtualization/v2 -ClassName Msvm_ShutdownComponent -Filter "SystemName='$($v.Id)'";` +
		`if(!$c){throw 'no shutdown integration service'};$r=Invoke-CimMethod -InputObject $c -MethodName InitiateShutdown -Arguments @{Force=$true;Reason='mains failure'};` +
		`if($r.ReturnValue -notin 0,4096){throw "InitiateShutdown: $($r.ReturnValue)"};ConvertTo-Json -Compress @{ok=1}`
	forceVM script = oneVM + `Stop-VM -VM $v -TurnOff -Force;ConvertTo-Json -Compress @{ok=1}`
	startVM script = oneVM + `Start-VM -VM $v;ConvertTo-Json -Compress @{ok=1}`

	// A role is a clustered VM; what its resource does when it is taken offline is its OfflineAction.
	allRoles = `Get-ClusterGroup|?{"$($_.GroupType)" -eq 'VirtualMachine'}`
	role     = `%{$r=$_|Get-ClusterResource|?{"$($_.ResourceType)" -eq 'Virtual Machine'}|Select -First 1;` +
		`@{id="$($_.Id)";name=$_.Name;state="$($r.State)";host="$($_.OwnerNode)";offline=[int]($r|Get-ClusterParameter OfflineAction).Value}}`
	lookRole  script = `ConvertTo-Json -Compress -InputObject @(` + allRoles + `|?{$_.Name -eq $a.name -or "$($_.Id)" -eq $a.id}|` + role + `)`
	listRoles script = `ConvertTo-Json -Compress -InputObject @(` + allRoles + `|` + role + `)`
	findRole         = `$g=@(` + allRoles + `|?{if($a.id){"$($_.Id)" -eq $a.id}else{$_.Name -eq $a.name}});if($g.Count -ne 1){throw "$($g.Count) VMs of this name"};$g=$g[0];`
	stopRole  script = findRole + `Stop-ClusterGroup -InputObject $g -Wait 0|Out-Null;ConvertTo-Json -Compress @{ok=1}`
	forceRole script = findRole + `Stop-VM -ComputerName "$($g.OwnerNode)" -Name $g.Name -TurnOff -Force;ConvertTo-Json -Compress @{ok=1}`
	startRole script = findRole + `Start-ClusterGroup -InputObject $g -Wait 0|Out-Null;ConvertTo-Json -Compress @{ok=1}`

	lookHost script = `ConvertTo-Json -Compress @{on=@(Get-VM|?{"$($_.State)" -notin 'Off','Saved'}|%{$_.Name})}`
	stopHost script = `Stop-Computer -Force;ConvertTo-Json -Compress @{ok=1}`

	lookCluster script = `$s="$((Get-Service ClusSvc).Status)";$o=@();if($s -eq 'Running'){$o=@(` + allRoles +
		`|?{"$($_.State)" -ne 'Offline'}|%{$_.Name})};ConvertTo-Json -Compress @{service=$s;on=$o}`
	stopCluster  script = `Stop-Cluster -Force -Wait 0|Out-Null;ConvertTo-Json -Compress @{ok=1}`
	startCluster script = `Start-Cluster -Wait 0|Out-Null;ConvertTo-Json -Compress @{ok=1}`
)

// argv is the command that runs the script. Its last word is Base64 without "=" at its end, which means nothing to any
// shell that may stand between: the script is filled up with blanks.
func (s script) argv(args any) ([]string, error) {
	text, err := json.Marshal(args)
	if err != nil {
		return nil, err
	}
	units := utf16.Encode([]rune(fmt.Sprintf(prelude, base64.StdEncoding.EncodeToString(text)) + string(s)))
	for len(units)%3 != 0 {
		units = append(units, ' ')
	}
	raw := make([]byte, 0, 2*len(units))
	for _, u := range units {
		raw = append(raw, byte(u), byte(u>>8))
	}
	return []string{"powershell.exe", "-NoProfile", "-NonInteractive", "-EncodedCommand", base64.StdEncoding.EncodeToString(raw)}, nil
}

// run runs the script on the machine of a connection and reads its answer.
func (s script) run(ctx context.Context, on shell, args, into any) error {
	if err := context.Cause(ctx); err != nil {
		return fmt.Errorf("it was not asked: %w", err)
	}
	argv, err := s.argv(args)
	if err != nil {
		return fmt.Errorf("%w: %w", adapter.ErrRefused, err)
	}
	res, err := on.Run(ctx, runbook.Command{Argv: argv}, "")
	if err != nil {
		return err
	}
	text := strings.TrimSpace(strings.TrimPrefix(res.Stdout, "\ufeff"))
	var failed struct {
		Error string `json:"error"`
		ID    string `json:"id"`
	}
	if json.Unmarshal([]byte(text), &failed) == nil && failed.Error != "" {
		return explain(failed.Error, failed.ID)
	}
	if text == "" || res.Code != 0 {
		return explain(fmt.Sprintf("PowerShell exited with %d: %s", res.Code, adapter.Plain(strings.TrimSpace(res.Stderr+" "+text), 200)), "")
	}
	if into == nil {
		return nil
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		return fmt.Errorf("%w: PowerShell answers what is no JSON: %s", adapter.ErrRefused, adapter.Plain(text, 100))
	}
	return nil
}

// hints are looked through in order, in the text and the name of an error.
var hints = []struct {
	text     string
	sentinel error
	say      string
}{
	{"0 VMs of this name", adapter.ErrGone, ""},
	{"VMs of this name", adapter.ErrRefused, "several VMs have this name: give the id of the one that is meant"},
	{"CommandNotFoundException", adapter.ErrRefused, "the machine lacks the cmdlets: Install-WindowsFeature Hyper-V-PowerShell, RSAT-Clustering-PowerShell"},
	{"not recognized", adapter.ErrRefused, "the machine has no PowerShell where it is looked for"},
	{"AccessDenied", adapter.ErrRefused, denied},
	{"Access is denied", adapter.ErrRefused, denied},
	{"required permission", adapter.ErrRefused, denied},
	{"UnauthorizedAccess", adapter.ErrRefused, denied},
	{"integration service", adapter.ErrRefused, "its guest services do not run: start or install them, or let down.force power it off"},
	{"32775", adapter.ErrBusy, "its state does not allow it now"},
	{"current state", adapter.ErrBusy, "its state does not allow it now"},
	{"InvalidState", adapter.ErrBusy, "its state does not allow it now"},
}

const denied = "the account may not: put it into Hyper-V Administrators, give it Grant-ClusterAccess -Full for a cluster, and for a host's shutdown into Administrators"

func explain(text, id string) error {
	text = strings.Join(strings.Fields(text), " ")
	for _, h := range hints {
		if strings.Contains(text, h.text) || strings.Contains(id, h.text) {
			if h.say == "" {
				return fmt.Errorf("%w: %s", h.sentinel, text)
			}
			return fmt.Errorf("%w: %s (%s)", h.sentinel, h.say, text)
		}
	}
	return fmt.Errorf("%w: Windows says: %s", adapter.ErrRefused, text)
}

// unknown tells whether an error leaves open what was done.
func unknown(err error) bool {
	for _, sure := range []error{adapter.ErrUnreachable, adapter.ErrRefused, adapter.ErrBusy, adapter.ErrGone} {
		if errors.Is(err, sure) {
			return false
		}
	}
	return err != nil
}

// asked is what an error of a question means: no answer is as good as not asked.
func asked(err error) error {
	if unknown(err) && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("%w: %w", adapter.ErrUnreachable, err)
	}
	return err
}
