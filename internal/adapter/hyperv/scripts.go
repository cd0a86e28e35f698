package hyperv

import (
	"context"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/powershell"
)

// script is a constant PowerShell script; see powershell.Script. Its arguments stand in $a.
type script powershell.Script

// run runs the script on the machine of a connection and reads its answer.
func (s script) run(ctx context.Context, on powershell.Shell, args, into any) error {
	return powershell.Script(s).Run(ctx, on, powershell.Call{Args: args, Hints: hints}, into)
}

const (
	// A VM by its Id or its name, which Get-VM itself would take for a pattern.
	findVM = `$v=@(Get-VM|?{if($a.id){"$($_.Id)" -eq $a.id}else{$_.Name -eq $a.name}});`
	oneVM  = findVM + `if($v.Count -ne 1){throw "$($v.Count) VMs of this name"};$v=$v[0];`

	lookVM script = findVM + `ConvertTo-Json -Compress -InputObject @($v|%{@{id="$($_.Id)";name=$_.Name;state="$($_.State)";clustered=[bool]$_.IsClustered}})`
	// Those of a cluster are its roles: here they would be a second node of the same VM.
	own            = `Get-VM|?{!$_.IsClustered}|%{@{id="$($_.Id)";name=$_.Name;state="$($_.State)";host=$env:COMPUTERNAME}}`
	listVMs script = `ConvertTo-Json -Compress -InputObject @(` + own + `)`
	// Stop-VM would wait for the guest: this returns when the guest has taken the request.
	stopVM script = oneVM + `$c=Get-CimInstance -Namespace root/virtualization/v2 -ClassName Msvm_ShutdownComponent -Filter "SystemName='$($v.Id)'";` +
		`if(!$c){throw 'no shutdown integration service'};$r=Invoke-CimMethod -InputObject $c -MethodName InitiateShutdown -Arguments @{Force=$true;Reason='mains failure'};` +
		`if($r.ReturnValue -notin 0,4096){throw "InitiateShutdown: $($r.ReturnValue)"};ConvertTo-Json -Compress @{ok=1}`
	forceVM script = oneVM + `Stop-VM -VM $v -TurnOff -Force;ConvertTo-Json -Compress @{ok=1}`
	startVM script = oneVM + `Start-VM -VM $v;ConvertTo-Json -Compress @{ok=1}`

	// A role is a clustered VM; what its resource does when it is taken offline is its OfflineAction.
	allRoles = `Get-ClusterGroup|?{"$($_.GroupType)" -eq 'VirtualMachine'}`
	role     = `%{$r=$_|Get-ClusterResource|?{"$($_.ResourceType)" -eq 'Virtual Machine'}|Select -First 1;` +
		`@{id="$($_.Id)";name=$_.Name;state="$($r.State)";host="$($_.OwnerNode)";offline=$(if($null -eq ($o=($r|Get-ClusterParameter OfflineAction).Value)){-1}else{[int]$o})}}`
	lookRole script = `ConvertTo-Json -Compress -InputObject @(` + allRoles +
		`|?{$_.Name -eq $a.name -or "$($_.Id)" -eq $a.id}|` + role + `)`
	listRoles script = `ConvertTo-Json -Compress -InputObject @(` + allRoles + `|` + role + `)`
	// A machine may have one of the two only: VMs of its own, or a part in a cluster.
	listAll script = `$o=@();if(Get-Command Get-VM -ErrorAction Ignore){$o+=@(` + own + `)};` +
		`if("$((Get-Service ClusSvc -ErrorAction Ignore).Status)" -eq 'Running'){$o+=@(` + allRoles +
		`|%{@{id="$($_.Id)";name=$_.Name;state="$($_.State)";host="$($_.OwnerNode)";clustered=$true}})};ConvertTo-Json -Compress -InputObject @($o)`
	findRole        = `$g=@(` + allRoles + `|?{if($a.id){"$($_.Id)" -eq $a.id}else{$_.Name -eq $a.name}});if($g.Count -ne 1){throw "$($g.Count) VMs of this name"};$g=$g[0];`
	stopRole script = findRole + `Stop-ClusterGroup -InputObject $g -Wait 0|Out-Null;ConvertTo-Json -Compress @{ok=1}`
	// By the VM's own Id: its name may be another than the role's, and Stop-VM takes all VMs of one name.
	forceRole script = findRole + `$i=($g|Get-ClusterResource|?{"$($_.ResourceType)" -eq 'Virtual Machine'}|Select -First 1|Get-ClusterParameter VmID).Value;` +
		`$v=Get-VM -ComputerName "$($g.OwnerNode)" -Id $i;Stop-VM -VM $v -TurnOff -Force;ConvertTo-Json -Compress @{ok=1}`
	startRole script = findRole + `Start-ClusterGroup -InputObject $g -Wait 0|Out-Null;ConvertTo-Json -Compress @{ok=1}`

	// What the firmware of the VMs of this host says; a clustered one is known as its role.
	listFirmware script = `ConvertTo-Json -Compress -InputObject @(Get-CimInstance -Namespace root/virtualization/v2 -ClassName Msvm_VirtualSystemSettingData|` +
		`?{$_.VirtualSystemType -eq 'Microsoft:Hyper-V:System:Realized'}|%{$v=Get-VM -Id $_.VirtualSystemIdentifier;` +
		`@{id=if($v.IsClustered){"$((Get-ClusterGroup -VMId $v.Id).Id)"}else{"$($v.Id)"};state="$($v.State)";firmware="$($_.BIOSGUID)"}})`

	offStates = `'Off','Saved','FastSaved','OffCritical','SavedCritical','FastSavedCritical'`

	lookHost script = `ConvertTo-Json -Compress @{on=@(Get-VM|?{"$($_.State)" -notin ` + offStates + `}|%{$_.Name})}`
	stopHost script = `Stop-Computer -Force;ConvertTo-Json -Compress @{ok=1}`

	// What the cluster would take away under: its roles, and VMs of this host that are none and lie on a shared volume.
	inCluster = `@(` + allRoles + `|?{"$($_.State)" -ne 'Offline'}|%{$_.Name})+@(if(Get-Command Get-VM -ErrorAction Ignore){Get-VM|` +
		`?{!$_.IsClustered -and "$($_.State)" -notin ` + offStates +
		` -and @($_.HardDrives|?{$_.Path -like "$env:SystemDrive\ClusterStorage\*"})}|%{$_.Name}})`
	volumes = `@(Get-ClusterSharedVolume|%{@{name=$_.Name;state="$($_.State)";host="$($_.OwnerNode)";` +
		`maintenance=[bool](@($_.SharedVolumeInfo)|?{$_.MaintenanceMode});redirected=[bool](@($_.SharedVolumeInfo)|?{$_.RedirectedAccess})}})`
	lookCluster script = `$s="$((Get-Service ClusSvc).Status)";$o=@();$v=@();if($s -eq 'Running'){$o=` + inCluster +
		`;$v=` + volumes + `};` +
		`ConvertTo-Json -Compress -Depth 3 @{service=$s;on=$o;volumes=$v}`
	// Asked once more where nothing lies between the answer and the command.
	stopCluster  script = `$o=` + inCluster + `;if($o){throw "VMs still run in it: $o"};Stop-Cluster -Force -Wait 0|Out-Null;ConvertTo-Json -Compress @{ok=1}`
	startCluster script = `Start-Cluster -Wait 0|Out-Null;ConvertTo-Json -Compress @{ok=1}`
)

// hints are looked through in order, in the text and the name of an error.
var hints = []powershell.Hint{
	{Text: "0 VMs of this name", Means: adapter.ErrGone},
	{Text: "VMs still run in it", Means: adapter.ErrBusy},
	{Text: "VMs of this name", Means: adapter.ErrRefused, Say: "several VMs have this name: give the id of the one that is meant"},
	{
		Text: "CommandNotFoundException", Means: adapter.ErrRefused,
		Say: "the machine lacks the cmdlets: Install-WindowsFeature Hyper-V-PowerShell, RSAT-Clustering-PowerShell",
	},
	{Text: "AccessDenied", Means: adapter.ErrRefused, Say: denied},
	{Text: "Access is denied", Means: adapter.ErrRefused, Say: denied},
	{Text: "required permission", Means: adapter.ErrRefused, Say: denied},
	{Text: "UnauthorizedAccess", Means: adapter.ErrRefused, Say: denied},
	{
		Text: "integration service", Means: adapter.ErrRefused,
		Say: "its integration services are not running: start or install them, or let down.force power it off",
	},
	{Text: "32775", Means: adapter.ErrBusy, Say: "its state does not allow it now"},
	{Text: "current state", Means: adapter.ErrBusy, Say: "its state does not allow it now"},
	{Text: "InvalidState", Means: adapter.ErrBusy, Say: "its state does not allow it now"},
}

const denied = "the account may not: put it into Hyper-V Administrators, give it Grant-ClusterAccess -Full for a cluster, and for a " +
	"host's shutdown into Administrators"
