package referee_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/plan"
	"ebbtide/internal/referee"
)

const everything = referee.Records | referee.Moves | referee.Batteries

// dark is the beginning of most stories: the mains of one UPS have failed for a while, and caches are in write-through.
const dark = "ups: out; +5s; outage; cluster: protected; nas: protected; "

// vmsOff and allOff go on from there.
const (
	vmsOff  = dark + "app: off; db: off; lab: off; vcenter: off; "
	quietly = "ups: out; +5s; outage; ups: back; +1s; ups: silent; ups: out; +2m; nas: protected; cluster: protected; app: off; db: off; lab: off; vcenter: off; stop esx; +10s; record failed stop esx; "
	allOff  = vmsOff + "esx: off; nas: off; box: off; strip: off; "
)

// twinDown is a host that went down in maintenance mode, with its power back.
const twinDown = "ups: out; ups2: out; +5s; outage; cluster: protected; nas: protected; stop twin; twin: protected; twin: off; " +
	"ups: back; ups2: back; +70s; record turned goal=up supplies=ups,ups2; "

// back is the power of the UPS back for long enough, with its gate open.
const back = "ups: back; +70s; record turned goal=up supplies=ups; "

// stories has for each rule that can be judged from outside the smallest histories that break it, and the nearest that don't.
// wants is the start of the first violation; "": there is none.
var stories = []struct{ what, story, wants string }{
	{"storage under a host", vmsOff + "stop nas", "1: nas was told to stop while esx is on"},
	{"storage under a host that goes down", vmsOff + "esx: stopping; stop nas", "1: nas was told to stop while esx is stopping"},
	{"storage when its host is off", vmsOff + "esx: off; stop nas", ""},
	{"storage under a host that somebody switched on at this moment", vmsOff + "esx: off; +1s; esx: meddled; esx: on; stop nas", ""},
	{"storage under a host that somebody switched on a while ago", vmsOff + "esx: off; +1s; esx: meddled; esx: on; +5s; stop nas", "1: nas was told to stop while esx is on"},
	{"storage under a host that somebody switched on and that has never answered since", vmsOff + "esx: off; +1s; esx: meddled; esx: on; +5s; esx: silent; stop nas", ""},
	{"storage under a host that was asked in vain before somebody switched it on", vmsOff + "esx: off; esx: silent; +1s; esx: meddled; esx: on; +5s; stop nas", ""},
	{"storage under a host that was seen on since somebody switched it", vmsOff + "esx: off; +1s; esx: meddled; esx: on; esx: answers; stop nas", "1: nas was told"},
	{"storage under a host that was off before", "ups: out; +5s; esx: off; app: off; db: off; lab: off; vcenter: off; outage; nas: protected; cluster: protected; stop nas", ""},

	{"storage under a host that was given up, at the end of its battery", vmsOff + "stop esx; +10s; record failed stop esx; ups: empty; +2s; record intent stop nas cause=pressed (no time); bare stop nas", ""},
	{"storage under a host that was given up while it boots, at the end of its battery", vmsOff + "esx: starting; +1s; record failed stop esx; ups: empty; +2s; record intent stop nas cause=pressed (no time); bare stop nas", ""},
	{"storage under a host that was given up untold while it was on, at the end of its battery", vmsOff + "+1s; record failed stop esx; ups: empty; +2s; record intent stop nas cause=pressed (no time); bare stop nas", "1: nas was told to stop while esx is on"},
	{"storage under a host that was given up, in the silence of a UPS that failed in it, at the end of its battery", quietly + "+2h; record intent stop nas cause=pressed (no time); bare stop nas", ""},
	{"storage under a host that was given up, in the silence of a UPS that failed in it", quietly + "+1s; record intent stop nas cause=pressed (no time); bare stop nas", "1: nas was told to stop while esx is on"},
	{"storage under a host that was given up, with hours of battery left", vmsOff + "stop esx; +10s; record failed stop esx; +2s; record intent stop nas cause=pressed (no time); bare stop nas", "1: nas was told to stop while esx is on"},
	{"a host under its VM", dark + "stop esx", "2: host esx was told to stop with db on on it"},
	{"a host that is forced with its VM, and says why", dark + "stop app; record failed stop app; stop db; record failed stop db; stop lab; record failed stop lab; vcenter: off; force esx (the battery is about to die)", ""},
	{"a host that is forced with VMs that nobody gave up", dark + "force esx (the battery is about to die)", "2: host esx was told to stop with db on on it"},
	{"a host that is forced with VMs that were given up untold", dark + "record failed stop app; record failed stop db; record failed stop lab; force esx (the battery is about to die)", "2: host esx was told to stop with db on on it"},
	{"a host that is forced with its VM, and does not say why", dark + "force esx", "18: esx was forced off without a reason"},
	{"a host without VMs", vmsOff + "stop esx", ""},

	{"an output under storage", vmsOff + "esx: off; box: off; strip: off; record no-return supplies=ups; cut ups", "3: the output of ups is cut while nas is on"},
	{"an output under storage, by deadline", vmsOff + "ups: empty; record no-return supplies=ups; +1s; cut ups (the battery is about to die)", ""},
	{"an output under storage, by deadline with an hour left", vmsOff + "esx: off; box: off; strip: off; record no-return supplies=ups; cut ups (the battery is about to die)", "3: the output of ups is cut while nas is on"},
	{"an output under a host whose other feed is to be cut", allOff + "ups2: out; +5s; record no-return supplies=ups,ups2; ups2: back; +1s; cut ups", "3: the output of ups is cut while twin is on"},
	{"an output whose mains are fine", dark + "cut ups2", "21: ups2 keeps its power and was told to cut"},
	{"an output that is to be cut, with its mains fine", dark + "record no-return supplies=ups2", "21: ups2 is to be cut, and did not fail"},
	{"an output that is to be cut after all, for what only that starts", vmsOff + "nas: off; strip: off; box: off; stop esx; esx: off; ups: back; +10s; record no-return cause=after-all supplies=ups", ""},
	{"an output that was to be cut after all, and is not", vmsOff + "nas: off; strip: off; box: off; stop esx; esx: off; ups: back; +10s; record no-return cause=after-all supplies=ups; +1s; record mains cause=released supplies=ups", ""},
	{"an output that is to be cut after all, with nothing that waits for that", allOff + "ups: back; esx: on; +10s; record no-return supplies=ups", "21: ups is to be cut after its mains are back, and nothing waits for that"},
	{"an output that is to be cut after all, under storage that is on", allOff + "ups: back; nas: on; nas: answers; +10s; record no-return supplies=ups", "21: ups is to be cut after its mains are back, and nas is on"},
	{"an output under a host with another feed", allOff + "record no-return supplies=ups; cut ups", ""},
	{"the outputs under a host with two feeds", allOff + "ups2: out; +5s; cut ups", "3: the output of ups is cut while twin is on"},
	{"an outlet under a box", vmsOff + "stop strip", "3: outlet strip was told to go off while box is on"},
	{"an outlet with its box off", vmsOff + "box: off; stop strip", ""},

	{"a start of what was off", "lab: off; " + allOff + back + "nas: on; esx: on; start lab", "4: lab is started and was not on before"},
	{"a start of what was on", allOff + back + "nas: on; esx: on; start lab", ""},
	{"a command before the snapshot", "ups: out; +5s; record opened; nas: protected; stop nas", "4: stop nas before the snapshot"},
	{"two snapshots", dark + "record snapshot", "4: the snapshot was taken again"},
	{"a node that is added twice", dark + "record widened nodes=lab", "4: the snapshot of lab was taken again"},
	{"a snapshot that a look before somebody's doing is in", "ups: out; +4s; lab: meddled; lab: off; +1s; record opened; record snapshot nodes=lab; app: off; db: off; " + back + "start lab", ""},

	{"a start on battery", allOff + "nas: on; esx: on; start lab", "5: lab is started on battery"},
	{"a start under a cut that counts down", allOff + "record no-return supplies=ups; cut ups; ups: back; +70s; start nas", "5: nas is started before the recharge gate is open, or on an output that is to be cut"},
	{"a start before the gate", allOff + "nas: on; esx: on; ups: back; +30s; start lab", "5: lab is started before the recharge gate is open"},
	{"a start after the gate", allOff + "nas: on; esx: on; ups: back; +70s; start lab", ""},
	{"a start after a gate that was open before the mains failed again", allOff + "nas: on; esx: on; ups: back; +70s; ups: out; +2s; ups: back; +10s; start lab", "5: lab is started before"},
	{"a cache put back before the gate", dark + "protect nas; ups: back; +30s; unprotect nas", "5: nas is put back before the recharge gate"},
	{"a cluster put back while its vCenter's host is on battery", dark + "protect cluster; unprotect cluster", "5: cluster is put back on battery"},
	{"a host whose other supply never failed", dark + "twin: off; start twin", ""},
	{"a drill on battery", "ups: out; +5s; drill lab", "5: a drill begins on battery"},

	{"a stop of a host that starts", vmsOff + "ups: off; ups: on; esx: starting; stop esx", "6: esx was told to stop while it starts"},
	{"a stop of a host that is silent for longer than its start may take", vmsOff + "ups: off; ups: on; esx: starting; +10m; stop esx", ""},
	{"a stop of a host that says that it starts", vmsOff + "ups: off; ups: on; +10m; esx: starting; esx: answers; stop esx", "6: esx was told to stop while it starts"},
	{"a stop of a host that starts for longer than it may", vmsOff + "ups: off; ups: on; esx: starting; esx: answers; +10m; stop esx", ""},
	{"a stop of what is on", dark + "stop lab", ""},
	{"a start of what stops", dark + "lab: stopping; " + back + "start lab", "6: lab was told to start while it stops"},

	{"a command without an intent", dark + "bare stop lab", "7: stop lab without a durable intent"},
	{"a command twice for one intent", dark + "stop lab; bare stop lab", "7: stop lab without a durable intent"},
	{"a command for an intent of another life", dark + "record intent stop lab; resumed; bare stop lab", "7: stop lab without a durable intent"},
	{"an output whose failure the life before heard, and did not write down", dark + "ups2: out; resumed; cut ups2", "21: ups2 keeps its power and was told to cut"},
	{"a command for an intent of this life", dark + "record intent stop lab; resumed; stop lab", ""},

	{"an end that says nothing", dark + "+1h; ends open", "8: the outage is stuck and does not say on what"},
	{"an end that waits with the mains there", allOff + "ups: back; +1h; ends open for the gate", "8: the outage is not over: for the gate"},
	{"an end that waits for the mains", allOff + "+1h; ends open for ups", ""},
	{"an end on hold", allOff + "ups: back; +1h; ends held", ""},
	{"an end with nobody left", allOff + "cut ups; ups: uncut; me: off; ups: back; +1h; ends open", ""},
	{"an end with nobody left, whose cut came too late", allOff + "stop me; cut ups; +20s; ups: uncut; cut ups; me: off; ups: off; ups: back; ups: on; +1h; ends open", ""},
	{"an end with nobody left, whose cut came in time", allOff + "stop me; cut ups; me: off; ups: off; ups: back; ups: on; +1h; ends open", "8: the outage is stuck"},

	{"three at once", dark + "stop app; record intent stop lab; record intent stop vcenter", "9: 3 of vm at once, limit 2"},
	{"two at once, then another", dark + "stop app; stop lab; lab: off; record proven stop lab; stop vcenter", ""},
	{"three at once over a crash", dark + "stop app; stop lab; resumed; stop vcenter", "9: 3 of vm at once, limit 2"},
	{"three of which one reached nobody", dark + "stop app; stop lab; record accepted stop lab outcome=unreachable; stop vcenter", ""},

	{"a VM before its user", dark + "stop db", "10: db was told to stop before its user app was off"},
	{"a VM after its user", dark + "app: off; stop db", ""},
	{"a VM whose user was given up", dark + "stop app; record failed stop app; stop db", ""},
	{"a VM whose user was given up untold", dark + "record failed stop app; stop db", "10: db was told to stop before its user app was off"},
	{"a VM whose user was given up, and its power came back since", dark + "stop app; record failed stop app; ups: back; +10s; ups: out; +5s; stop db", "10: db was told to stop before its user app was off"},
	{"a VM whose user was given up, and started since", dark + "stop app; record failed stop app; record intent start app; stop db", "10: db was told"},
	{"a VM whose user somebody switched on unseen", dark + "app: off; app: meddled; app: on; +2s; stop db", ""},
	{"a VM whose user somebody switched on a minute ago", dark + "app: off; app: meddled; app: on; +1m; stop db", "10: db was told"},
	{"a VM whose user somebody switched on, and it was looked at twice", dark + "app: off; app: meddled; app: on; app: answers; app: answers; stop db", "10: db was told"},
	{"a start before what it needs", allOff + back + "nas: on; esx: on; start app", "10: app is started before db is on"},
	{"a start after what it needs", allOff + back + "nas: on; esx: on; db: on; start app", ""},
	{"a cut before an outlet", allOff + "strip: on; cut ups", "10: the output of ups is cut before its outlet strip is off"},
	{"a cut before an outlet that came on again by itself", allOff + "record proven stop strip; strip: on; cut ups", ""},

	{"a VM that is waited for with the reserve", dark + "record triggered stage=shutdown supplies=ups; stop lab; +5s; ups: empty; +22s", "11: lab is waited for although only the reserve of ups is left"},
	{"a VM that is waited for with the reserve, and called back on battery", dark + "record triggered stage=shutdown supplies=ups; stop lab; record mains cause=returned supplies=ups; +5s; ups: empty; +22s", "11: lab is waited for"},
	{"a VM that is off with the reserve, and not proven so", dark + "record triggered stage=shutdown supplies=ups; stop lab; +5s; ups: empty; +5s; lab: off; +9s", ""},
	{"a VM that is waited for with time left", dark + "record triggered stage=shutdown supplies=ups; stop lab; +20s", ""},
	{"a VM that is waited for on hold", dark + "record triggered stage=shutdown supplies=ups; stop lab; record ordered order=hold; ups: empty; +30s", ""},
	{"a VM that is waited for when nothing more is to go down", dark + "record triggered stage=shutdown supplies=ups; stop lab; record ordered order=abort; ups: empty; +30s", ""},
	{"a VM on another supply's reserve", dark + "record triggered stage=shutdown supplies=ups; stop twin; ups: empty; +30s", "21: twin keeps its power"},

	{"a VM before the cache", "ups: out; +5s; outage; cluster: protected; stop lab", "12: lab was told to stop while the cache nas is in write-back"},
	{"a VM before a cache that was given up", "ups: out; +5s; outage; cluster: protected; protect nas; record failed protect nas; stop lab", ""},
	{"a VM before a cache that was given up before its power was back", "ups: out; +5s; outage; cluster: protected; protect nas; record failed protect nas; ups: back; +10s; ups: out; +5s; stop lab", "12: lab was told"},
	{"a VM before a cache that was given up before its supply was silent", "drill nas app db lab; cluster: protected; protect nas; record failed protect nas; ups: silent; +30s; ups: speaks; +30s; stop lab", ""},
	{"a VM a moment after the mains failed", "ups: out; +1s; outage; stop lab", ""},
	{"a host before the cluster on it", "ups: out; +5s; outage; nas: protected; stop vcenter", "12: vcenter was told to stop while the cluster cluster was not suspended"},
	{"storage under a dirty cache", vmsOff + "esx: off; flash: dirty; stop nas", "12: nas was told to stop while its cache flash is dirty"},
	{"a first stop that calls itself the second", "ups: out; +5s; outage; cluster: protected; stop lab attempt=2", "12: lab was told to stop while the cache nas is in write-back"},
	{"left as it was for the outage, after somebody pressed its button", dark + "protect nas; nas: meddled; nas: answers; nas: answers; nas set slow; " + back + "record closed", "12: nas was changed for the outage and is left set to"},
	{"storage under a cache whose flush was given up, with hours of battery left", vmsOff + "esx: off; flash: dirty; flush flash; +1s; record failed flush flash; +1s; record intent stop nas cause=pressed (no time); bare stop nas", "12: nas was told to stop while its cache flash is dirty"},
	{"storage under a cache whose flush was given up, at the end of its battery", vmsOff + "esx: off; flash: dirty; flush flash; +1s; record failed flush flash; ups: empty; +2s; record intent stop nas cause=pressed (no time); bare stop nas", ""},
	{"storage under a cache whose flush was written before a crash, and given up after it", vmsOff + "esx: off; flash: dirty; record intent flush flash; resumed; ups: empty; +2s; record failed flush flash; +1s; record intent stop nas cause=pressed (no time); bare stop nas", ""},
	{"storage under a cache whose flush was written, not told and given up", vmsOff + "esx: off; flash: dirty; record intent flush flash; ups: empty; +2s; record failed flush flash; +1s; record intent stop nas cause=pressed (no time); bare stop nas", "12: nas was told to stop while its cache flash is dirty"},
	{"storage under a cache whose flush was given up, as its output is about to be cut with its mains back", vmsOff + "esx: off; flash: dirty; flush flash; +1s; record failed flush flash; ups: empty; +1s; record no-return supplies=ups; cut ups (no time); ups: back; +1s; record intent stop nas cause=pressed (no time); bare stop nas", ""},
	{"storage under a dirty cache that nobody has flushed, at the end of its battery", vmsOff + "esx: off; flash: dirty; ups: empty; +2s; record intent stop nas cause=pressed (no time); bare stop nas", "12: nas was told to stop while its cache flash is dirty"},
	{"storage that goes on to its stop without a word on why, under a dirty cache", vmsOff + "esx: off; flash: dirty; flush flash; +1s; record failed flush flash; ups: empty; +2s; stop nas", "12: nas was told to stop while its cache flash is dirty"},
	{"dirty storage", vmsOff + "esx: off; nas: dirty; stop nas", "12: nas was told to stop with dirty data"},
	{"put back, and never changed", dark + back + "unprotect nas", "12: nas is put back, and was never changed"},
	{"put back to what it was", dark + "protect nas; " + back + "unprotect nas", ""},
	{"put back to something else", dark + "protect nas; " + back + "unprotect nas slow", `12: nas is put back to "slow", and was set to "fast"`},
	{"put back twice", dark + "protect nas; " + back + "unprotect nas; nas: bare; record proven unprotect nas; unprotect nas", "12: nas is put back again"},
	{"left as it was for the outage", dark + "protect nas; nas set slow; " + back + "record closed", `12: nas was changed for the outage and is left set to "slow"`},
	{"left in the maintenance mode that it went down in", twinDown + "twin: on; record closed", "12: twin was suspended by its stop and is left so"},
	{"left in the maintenance mode of a stop that reached nobody in this outage", strings.Replace(twinDown, "stop twin; ", "stop twin; record accepted stop twin outcome=unreachable; ", 1) + "twin: on; record closed", ""},
	{"taken out of the maintenance mode that it went down in", twinDown + "twin: on; unprotect twin; twin: bare; record closed", ""},
	{"taken out of a maintenance mode that it did not go down in", dark + back + "unprotect twin", "12: twin is put back, and was never changed"},
	{"left as it was for the outage, told to be put back in vain, and reported", dark + "protect nas; nas set slow; " + back + "unprotect nas; record closed nodes=nas", ""},
	{"left as it was for the outage, never told to be put back, and reported", dark + "protect nas; nas set slow; " + back + "record closed nodes=nas", "12: nas was changed for the outage, is reported as not put back, and was never told to be"},
	{"set for the outage as it was before, and reported", "nas: protected; nas set fast; " + dark + "protect nas; nas set fast; " + back + "record closed nodes=nas", ""},
	{"shown as put back, which nobody told it, and reported", dark + "protect nas; nas: bare; " + back + "record proven unprotect nas; nas: silent; record closed nodes=nas", ""},
	{"shown as put back, protected by a late command after that, and reported", dark + "protect nas; nas: bare; " + back + "record proven unprotect nas; +10s; nas: protected; +2m; nas: answers; nas: answers; record closed nodes=nas", "12: nas was changed for the outage, is reported as not put back, and was never told to be"},
	{"left as it was for the outage, off, and reported", dark + "protect nas; nas set slow; nas: off; " + back + "record closed nodes=nas", ""},

	{"a command while observing", "ups: out; +5s; record opened mode=observe; record snapshot nodes=lab; nas: protected; cluster: protected; stop lab", "13: stop lab in an outage that is observed only"},

	{"a start on a supply that was silent since it failed", allOff + "nas: on; esx: on; ups: silent; ups: back; +70s; start lab", "15: start of lab while nothing that feeds it was heard to be back"},

	{"force without a reason", dark + "force lab", "18: lab was forced off without a reason on record"},
	{"force before what is of lower risk, is off and not proven so", dark + "app: off; stop lab; lab: off; force db (no time)", ""},
	{"force before what is of lower risk", dark + "app: off; stop lab; force db (no time)", "18: db was forced off while lab, of lower risk, is waited for"},
	{"force with nothing else waited for", dark + "app: off; force db (no time)", ""},

	{"called off, and on", dark + "stop lab; record proven stop lab", "19: lab was called off and is on"},
	{"called off by a wrong answer", dark + "stop lab; lab: lies; record proven stop lab", ""},
	{"called off by its silence, and switched on by somebody meanwhile", dark + "stop lab; lab: off; lab: meddled; lab: on; record proven stop lab cause=silence", ""},
	{"called off by its silence, and switched on by somebody who was seen", dark + "stop lab; lab: off; lab: meddled; lab: on; lab: answers; lab: answers; record proven stop lab cause=silence", "19: lab was called off and is on"},
	{"called on, and starting", allOff + back + "nas: on; esx: starting; record proven start esx", "19: esx was called on and is starting"},
	{"called protected", "ups: out; +5s; outage; record proven protect nas", "19: nas was called protected and is not"},
	{"called protected, and undone after the look by an Unprotect of before", "ups: out; +5s; outage; protect nas; nas: protected; nas: answers; nas: bare; record proven protect nas", ""},
	{"called off, and switched on after the looks", dark + "stop lab; lab: off; lab: answers; lab: answers; lab: meddled; lab: on; record proven stop lab", ""},
	{"called off, and switched on before the looks", dark + "stop lab; lab: off; lab: meddled; lab: on; lab: answers; lab: answers; record proven stop lab", "19: lab was called off and is on"},
	{"called protected, and undone before the look", "ups: out; +5s; outage; protect nas; nas: protected; nas: bare; nas: answers; nas: answers; record proven protect nas", "19: nas was called protected and is not"},
	{"called clean", dark + "nas: dirty; record proven flush nas", "19: nas was called clean and is not"},
	{"called put back", dark + "protect nas; record proven unprotect nas", "19: nas was called put back and is not"},
	{"called on again, and off", dark + "stop lab; lab: off; record proven stop lab; record reopened lab state=on", "19: lab was called on again and is off"},
	{"off on record, on in the end", dark + "stop lab; lab: off; record proven stop lab; lab: on; " + back + "record closed", "19: lab was shown as off, is on, and nothing on record says"},

	{"forgotten", dark + "lab: off; " + back + "record closed", "20: lab was on before, and is neither brought back nor reported: it is off"},
	{"reported", dark + "lab: off; " + back + "record closed nodes=lab", ""},
	{"back", dark + "lab: off; " + back + "lab: on; record closed", ""},
	{"switched off by somebody, unseen", dark + back + "lab: meddled; lab: off; record closed", ""},
	{"switched off by somebody, and seen", dark + back + "lab: meddled; lab: off; lab: answers; lab: answers; record closed", "20: lab was on before"},
	{"turned up before the cut", vmsOff + "record no-return supplies=ups; stop esx; ups: back; +70s; record turned goal=up supplies=ups", "20: turned up past the point of no return, and ups was not cut"},
	{"turned up after the cut", vmsOff + "record no-return supplies=ups; stop esx; +1s; ups: off; ups: back; ups: on; +70s; record turned goal=up supplies=ups", ""},
	{"another supply turned up before the cut", vmsOff + "record no-return supplies=ups; stop esx; ups: back; +70s; record turned goal=up supplies=ups2", ""},
	{"turned up before the cut, after something was given up", vmsOff + "record no-return supplies=ups; stop esx; record failed stop esx; ups: back; +70s; record turned goal=up supplies=ups", ""},
	{"turned up before the cut, after something elsewhere was given up", vmsOff + "ups2: out; +5s; record no-return supplies=ups; record failed cut ups2; stop esx; ups: back; +70s; record turned goal=up supplies=ups", "20: turned up past"},
	{"released at once, with nothing that waits for it", vmsOff + "record no-return supplies=ups; ups: back; +70s; record mains cause=released supplies=ups", ""},
	{"released at once", vmsOff + "record no-return supplies=ups; stop esx; esx: off; ups: back; +70s; record mains cause=released supplies=ups", "20: released past the point of no return"},
	{"turned up before the cut, released", vmsOff + "record no-return supplies=ups; stop esx; ups: back; +3m; record mains cause=released supplies=ups; record turned goal=up supplies=ups", ""},
	{"turned up before the cut, with a protection given up", vmsOff + "record no-return supplies=ups; stop esx; protect cluster; record failed protect cluster; ups: back; +70s; record turned goal=up supplies=ups", "20: turned up past the point of no return"},
	{"turned up before the cut, with a button pressed an hour before", "esx: meddled; esx: answers; esx: answers; +1h; " + vmsOff + "record no-return supplies=ups; stop esx; ups: back; +70s; record turned goal=up supplies=ups", "20: turned up past the point of no return"},
	{"called cut, and on", allOff + "record proven cut ups", "19: the output of ups was called cut and is on"},
	{"called cycled, and never off", vmsOff + "record no-return supplies=ups; stop esx; ups: back; +70s; record mains cause=cycled supplies=ups", "20: called cycled past the point of no return, and ups was not cut"},
	{"a cut that was due in the silence", allOff + "record no-return supplies=ups; cut ups; ups: silent; ups: back; +10s; ups: uncut; +10s; ups: speaks; +70s; record turned goal=up supplies=ups", ""},
	{"a cut that was due after the silence", allOff + "record no-return supplies=ups; cut ups; ups: silent; ups: back; +10s; ups: speaks; +10s; ups: uncut; +70s; record turned goal=up supplies=ups", "20: turned up past"},

	{"a stop of what keeps its power, behind a supply that only is silent", dark + "ups2: silent; +2s; stop twin", "21: twin keeps its power"},
	{"a stop of what keeps its power", dark + "stop twin", "21: twin keeps its power and was told to stop"},
	{"a stop of what loses both its feeds", dark + "ups2: out; +5s; stop twin", ""},
	{"a stop of what has its power back", dark + "ups: back; +10s; stop lab", "21: lab keeps its power and was told to stop"},
	{"a stop of what has its power back since a moment", dark + "ups: back; +3s; stop lab", ""},
	{"a stop of what will be cut", dark + "record no-return supplies=ups; ups: back; +10s; stop lab", ""},
	{"a stop of what was to be cut, and is cycled", dark + "record no-return supplies=ups; +1s; ups: off; +1s; ups: back; ups: on; +10s; stop lab", "21: lab keeps its power"},
	{"a stop of what was to be cut, and is cycled while nobody heard", dark + "record no-return supplies=ups; +1s; ups: silent; ups: off; +1s; ups: back; ups: on; +1s; ups: speaks; +10s; stop lab", ""},
	{"a stop of what was to be cut, with a cut that was not made and looked at", allOff + "nas: on; ups: empty; +1s; cut ups (no time); ups: back; ups: uncut; +10s; ups: answers; ups: answers; +1s; stop nas", "21: nas keeps its power"},
	{"force of what hangs on its way down, with its power back", dark + "stop lab; lab: stopping; ups: back; +10s; force lab (to be started again)", ""},
	{"force of what was not told to stop, with its power back", dark + "lab: stopping; ups: back; +10s; force lab (to be started again)", "21: lab keeps its power"},
	{"a stop in a drill", "drill lab nas cluster; nas: protected; cluster: protected; stop lab", ""},
	{"a stop beside a drill", "drill lab; stop app", "21: stop app in a drill that does not take it"},
	{"a stop in a drill that has turned", "drill lab; record turned goal=up; stop lab", "21: lab keeps its power"},

	{"what the permit refused", dark + "record forbidden stop twin (rule 21: it keeps its power)", "21: permit: stop twin: it keeps its power"},
	{"records that are lost excuse what rests on them", dark + "forgot; stop db", ""},
	{"and nothing that does not", vmsOff + "forgot; stop nas", "1: nas was told to stop while esx is on"},
	{"until the next outage", dark + "forgot; record closed; outage; stop db", "10: db was told to stop"},
}

// unrecorded are stories of which the source sees nothing but power and commands: an outage begins with the mains, and what is
// on then is what a snapshot would have.
var unrecorded = []struct{ what, story, wants string }{
	{"unrecorded storage under a host", "ups: out; +5s; nas: protected; cluster: protected; bare stop nas", "1: nas was told to stop while esx is on"},
	{"an unrecorded start of what was off", "lab: off; ups: out; +5s; ups: back; +70s; bare start lab", "4: lab is started and was not on before"},
	{"an unrecorded start before the gate", "ups: out; +5s; lab: off; ups: back; +30s; bare start lab", "5: lab is started before the recharge gate"},
	{"unrecorded and forgotten", "ups: out; +5s; lab: off; ups: back; +70s; ends closed", "20: lab was on before"},
	{"unrecorded and left protected", "ups: out; +5s; nas: protected; nas set slow; bare protect nas; ups: back; +70s; ends closed", "12: nas was changed for the outage and is left set"},
	{"what needs records is not judged", "ups: out; +5s; nas: protected; cluster: protected; bare force lab; lab: off; ups: back; +70s; bare start lab; lab: on; ends closed", ""},
}

func TestRules(t *testing.T) {
	t.Parallel()
	tell(t, room(t, false), everything, stories)
}

func TestRulesWithoutRecords(t *testing.T) {
	t.Parallel()
	tell(t, room(t, false), 0, unrecorded)
}

func tell(t *testing.T, estate *plan.Estate, sight referee.Sight, stories []struct{ what, story, wants string }) {
	t.Helper()
	for _, c := range stories {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			found := play(t, estate, sight, c.story)
			if c.wants == "" {
				require.Empty(t, found)
				return
			}
			require.NotEmpty(t, found)
			require.True(t, strings.HasPrefix(found[0], c.wants), "%q does not begin with %q", found[0], c.wants)
		})
	}
}
