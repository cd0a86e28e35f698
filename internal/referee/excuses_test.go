package referee_test

import "testing"

// round2 is the power back, and with it the outage's second round for who goes down again.
const round2 = "ups: back; +70s; record turned goal=up supplies=ups; "

// excusesEnd has histories in which an excuse was once taken for more than it is, each beside a rule that it let pass: what nobody could
// know excuses what rests on it, for as long as nobody could.
var excusesEnd = []struct{ what, story, wants string }{
	{"stopped, and not in the snapshot", "ups: out; +5s; record opened; record snapshot nodes=db; nas: protected; cluster: protected; stop lab", "4: lab is stopped and is not in the snapshot"},
	{"starting at the snapshot, and never back", "lab: off; lab: starting; lab: answers; ups: out; +5s; outage; nas: protected; cluster: protected; lab: off; " + back + "+1h; record closed", "20: lab was on before, and is neither brought back nor reported: it is off"},
	{"cut by deadline with an hour left, one poll missed", dark + "record no-return supplies=ups; ups: silent; +1s; cut ups (why not)", "3: the output of ups is cut while nas is on"},
	{"dirty, and records are lost", vmsOff + "esx: off; nas: dirty; nas: answers; nas: answers; forgot; stop nas", "12: nas was told to stop with dirty data"},
	{"started by a gate that was open before an hour that nobody heard", allOff + "nas: on; esx: on; ups: back; +70s; ups: silent; ups: out; +1h; ups: back; +1s; ups: speaks; +1s; start lab", "5: lab is started before the recharge gate is open, or on an output that is to be cut"},
	{"given up after one lost probe", dark + "app: answers; +1s; app: silent; record failed stop app; stop db", "10: db was told to stop before its user app was off"},
	{"a host over VMs that were given up after one lost probe", dark + "app: silent; db: silent; lab: silent; vcenter: silent; record failed stop app; record failed stop db; record failed stop lab; record failed stop vcenter; force esx (why not)", "2: host esx was told to stop with db on on it"},
	{"given up untold in the second round", dark + "stop app; app: off; app: answers; app: answers; record proven stop app; " + round2 + "start app; app: on; app: answers; app: answers; record proven start app; ups: out; +5s; record failed stop app; stop db", "10: db was told to stop before its user app was off"},
	{"forced in the first round, and in the second with less to wait for", dark + "app: off; force db (no time); db: off; record proven force db; " + round2 + "start db; db: on; db: answers; db: answers; record proven start db; app: off; ups: out; +5s; stop lab; force db (no time)", "18: db was forced off while lab, of lower risk, is waited for"},
	{"reset by hand after it was seen on, and silent", vmsOff + "esx: on; esx: answers; esx: answers; +1s; esx: meddled; esx: on; +1m; esx: silent; +1s; stop nas", "1: nas was told to stop while esx is on"},
	{"a wrong answer an hour ago", vmsOff + "esx: off; esx: answers; esx: meddled; esx: on; esx: lies; +1h; stop nas", "1: nas was told to stop while esx is on"},
	{"a wrong answer an hour before the end", dark + back + "lab: meddled; lab: off; lab: lies; +1h; record closed", "20: lab was on before, and is neither brought back nor reported: it is off"},
	{"a wrong answer an hour before the proof", dark + "lab: lies; +1h; stop lab; record proven stop lab", "19: lab was called off and is on"},
	{"a wrong answer in the first round, the end after the second", dark + "stop lab; lab: lies; record proven stop lab; lab: off; lab: answers; lab: answers; " + round2 + "start lab; lab: on; lab: answers; lab: answers; record proven start lab; ups: out; +5s; stop lab; lab: off; lab: answers; lab: answers; record proven stop lab; " + round2 + "lab: on; lab: answers; lab: answers; record closed", "19: lab was shown as off, is on, and nothing on record says that it came back"},
	{"the reserve in slices", dark + "record triggered stage=shutdown supplies=ups; ups: empty; stop lab; +9s; stop lab attempt=2; +9s; stop lab attempt=3; +9s", "11: lab is waited for although only the reserve of ups is left"},
	{"the reserve, one VM after another", dark + "record triggered stage=shutdown supplies=ups; ups: empty; +9s; stop lab; +9s; lab: off; record proven stop lab; stop app; +9s; app: off; record proven stop app; stop db; +9s; db: off; record proven stop db; stop vcenter; +9s", "11: db is waited for although only the reserve of ups is left"},
	{"the reserve, each tenth poll missed", dark + "record triggered stage=shutdown supplies=ups; stop lab; ups: empty; +9s; ups: silent; +1s; ups: speaks; +9s; ups: silent; +1s; ups: speaks; +9s", "11: lab is waited for although only the reserve of ups is left"},
	{"started again, silent since before somebody stopped it", dark + back + "nas: on; esx: on; lab: answers; +1s; lab: silent; +1s; lab: meddled; lab: stopping; +36s; lab: silent; start lab", ""},
	{"an output that did not fail, to be cut after all, as far as is on record unwatched for minutes", dark + "+3m; resumed; record no-return cause=after-all supplies=ups2", "21: ups2 is to be cut after its mains are back, and nothing waits for that"},
	{"an output that did not fail, to be cut after all, after a restart", dark + "resumed; record no-return cause=after-all supplies=ups2", "21: ups2 is to be cut, and did not fail"},
	{"started again though it is seen stopping", dark + back + "nas: on; esx: on; lab: meddled; lab: stopping; +1s; lab: answers; +1m; start lab", "6: lab was told to start while it stops"},
	{"storage under a host that comes up, and was off before", "esx: off; lab: off; app: off; db: off; vcenter: off; ups: out; +5s; outage; nas: protected; cluster: protected; +1m; esx: starting; esx: answers; esx: answers; +1m; esx: answers; stop nas", "1: nas was told to stop while esx is starting"},
	{"a VM before one that starts and was seen to", dark + "app: off; app: answers; +1m; app: starting; app: answers; app: answers; stop db", "10: db was told to stop before its user app was off"},
	{"an outlet that somebody switched on an hour ago", allOff + "strip: meddled; strip: on; strip: answers; +1h; cut ups", "10: the output of ups is cut before its outlet strip is off"},
	{"a VM while a cache is in write-back", dark + "flash: bare; flash: answers; flash: answers; stop lab", "12: lab was told to stop while the cache flash is in write-back"},
	{"a VM while a cache is in write-back whose storage is off", dark + "nas: off; flash: bare; flash: answers; flash: answers; stop lab", ""},
	{"a VM before the cache, whose output came on as its UPS spoke", "ups: out; +5s; outage; cluster: protected; ups: off; +5s; ups: on; stop lab", ""},
	{"a VM before the cache, whose output its UPS has shown on since", "ups: out; +5s; outage; cluster: protected; ups: off; +5s; ups: on; +1s; stop lab", "12: lab was told to stop while the cache nas is in write-back"},
	{"switched on a while after it was asked in vain", vmsOff + "esx: off; esx: answers; esx: answers; +1m; esx: silent; +1s; esx: meddled; esx: on; +16s; stop nas", ""},
	{"switched on an hour after it was asked in vain", vmsOff + "esx: off; esx: answers; esx: answers; +1m; esx: silent; +1s; esx: meddled; esx: on; +1h; stop nas", "1: nas was told to stop while esx is on"},
	{"asked in vain before it was in write-back, and not for an hour", dark + "flash: silent; +1s; flash: bare; +1h; stop lab", "12: lab was told to stop while the cache flash is in write-back"},
	{"asked in vain before it was dirty, and not for an hour", vmsOff + "esx: off; esx: answers; nas: silent; nas: meddled; nas: dirty; +1h; stop nas", "12: nas was told to stop with dirty data"},
	{"off for an hour, and never proven so, with the reserve", dark + "record triggered stage=shutdown supplies=ups; stop lab; lab: off; lab: answers; lab: answers; ups: empty; +1h", "11: lab is waited for although only the reserve of ups is left"},
	{"the reserve, with the cut on its way", dark + "record triggered stage=shutdown supplies=ups; ups: empty; stop lab; record no-return supplies=ups; cut ups; +1m", "3: the output of ups is cut while nas is on"},
	{"up by itself since its look, and the snapshot has it as off", "lab: off; lab: answers; ups: out; +5s; lab: on; +5s; outage lab; " + back + "lab: off; +1h; record closed", ""},
	{"up by itself a minute ago, and the snapshot has it as off", "lab: off; lab: answers; ups: out; +5s; lab: on; +1m; outage lab; " + back + "lab: off; +1h; record closed", "20: lab was on before, and is neither brought back nor reported: it is off"},
	{"gone a moment ago, and waited for with the reserve", dark + "record triggered stage=shutdown supplies=ups; ups: empty; stop lab; +16s; lab: gone; +5s", ""},
	{"gone for a minute, and waited for with the reserve", dark + "record triggered stage=shutdown supplies=ups; stop lab; lab: gone; ups: empty; +1m", "11: lab is waited for although only the reserve of ups is left"},
	{"switched off while its UPS is silent", "ups: silent; nas: meddled; nas: off; nas: answers; nas: answers; ups: speaks; ups: out; +5s; record opened; record snapshot nodes=nas; " + back + "+1h; start nas", ""},
	{"switched off while its UPS is silent, and asked when it speaks", "ups: silent; nas: meddled; nas: off; nas: answers; ups: speaks; +1s; nas: answers; nas: answers; ups: out; +5s; record opened; record snapshot nodes=nas; " + back + "+1h; start nas", "4: nas is started and was not on before"},
	{"left as it is, and looked at an hour ago", dark + "protect nas; record proven protect nas; nas: meddled; nas set slow; nas: answers; " + back + "+1h; record closed", "12: nas was changed for the outage and is left"},
	{"left as it is, after it was protected once more", dark + "protect nas; record proven protect nas; nas set slow; nas: bare; nas: protected; nas: answers; nas: answers; nas: answers; " + back + "+1h; nas: answers; record closed", "12: nas was changed for the outage and is left"},
}

// excusesEndLater has those that need the large room.
var excusesEndLater = []struct{ what, story, wants string }{
	{"switched on by somebody as it went, and a power-off that never came to it", dark + "stop lab; +5s; lab: off; lab: meddled; lab: on; lab: answers; lab: answers; +10s; lab: silent; force lab (no time); lab: silent; record proven stop lab cause=silence", ""},
	{"switched on by somebody after it was seen off, and a power-off that never came to it", dark + "stop lab; +5s; lab: off; lab: answers; lab: answers; lab: meddled; lab: on; lab: answers; lab: answers; +10s; lab: silent; force lab (no time); lab: silent; record proven stop lab cause=silence", "19: lab was called off and is on"},
	{"powered off after its output came on, which nobody heard, and called back as that is heard", vmsOff + "ups: silent; ups: off; esx: off; +20s; ups: on; esx: starting; +10s; esx: on; +30s; force esx (no time); esx: stopping; +5s; ups: back; ups: speaks; +1s; record proven start esx", ""},
	{"the same, where that was heard", vmsOff + "ups: off; esx: off; +20s; ups: on; esx: starting; +10s; esx: on; +30s; force esx (no time); esx: stopping; +5s; ups: back; record proven start esx", "19: esx was called on and is stopping"},
	{"switched on by somebody as it went, powered off, and up with its power", dark + "stop lab; +5s; lab: off; lab: meddled; lab: on; lab: answers; lab: answers; +10s; force lab (no time); lab: off; +1m; lab: starting; +10s; lab: on; lab: silent; record proven stop lab cause=silence", "19: lab was called off and is on"},
	{"the same of a host, under its storage", vmsOff + "esx2: off; stop esx; +5s; esx: off; esx: meddled; esx: on; esx: answers; esx: answers; +1s; force esx (no time); +2s; esx: off; ups: off; +10s; ups: on; esx: starting; +10s; esx: on; +5s; esx: silent; stop nas", "1: nas was told to stop while esx is on"},
	{"called off by its silence, and up since the first of two feeds came on", "ups: out; ups2: out; +5s; outage; nas: protected; cluster: protected; app: off; db: off; lab: off; vcenter: off; stop twin; twin: stopping; twin: answers; +1s; twin: silent; ups: off; ups2: off; twin: off; +1m; ups2: back; ups2: on; twin: starting; +10s; twin: on; +9m; ups: back; ups: on; +10s; twin: silent; record proven stop twin cause=silence", ""},
	{"called off by its silence, and up since a moment", "ups: out; ups2: out; +5s; outage; nas: protected; cluster: protected; app: off; db: off; lab: off; vcenter: off; stop twin; twin: stopping; twin: answers; +1s; twin: silent; ups: off; ups2: off; twin: off; +1m; ups2: back; ups2: on; twin: starting; +10s; twin: on; +1m; ups: back; ups: on; +10s; twin: silent; record proven stop twin cause=silence", "19: twin was called off and is on"},
	{"storage under a host that is silent since before its stop", vmsOff + "esx: answers; +3m; stop esx; esx: stopping; +1s; esx: silent; stop nas", "1: nas was told to stop while esx is stopping"},
	{"storage under a host that was silent for long enough", vmsOff + "esx: answers; stop esx; esx: stopping; +3m; esx: silent; esx2: off; stop nas", ""},
	{"storage under a host that goes by itself in the second round", vmsOff + "stop esx; esx: off; esx: answers; record proven stop esx; " + round2 + "start esx; esx: on; esx: answers; record proven start esx; ups: out; +5s; esx: answers; esx: stopping; +2m; esx: silent; stop nas", "1: nas was told to stop while esx is stopping"},
	{"storage under a host that was started by command, its UPS silent", "ups: out; ups2: out; +5s; outage; nas: protected; cluster: protected; esx2: off; ups: back; ups2: back; +70s; record turned goal=up supplies=ups,ups2; start esx2; esx2: starting; ups: silent; +5s; ups2: out; +5s; stop san", "1: san was told to stop while esx2 is starting"},
	{"storage under a host that was started, lost its power and came up before its UPS said so", "ups: out; ups2: out; +5s; outage; nas: protected; cluster: protected; esx2: off; ups: back; ups2: back; +70s; record turned goal=up supplies=ups,ups2; start esx2; esx2: starting; esx2: on; esx2: answers; esx2: answers; +5s; ups: out; ups2: out; +5s; ups: back; ups: off; esx2: off; +5s; esx2: silent; ups: on; esx2: starting; stop san", ""},
	{"storage under a host that was started, lost its power and came up as its UPS said", "ups: out; ups2: out; +5s; outage; nas: protected; cluster: protected; esx2: off; ups: back; ups2: back; +70s; record turned goal=up supplies=ups,ups2; start esx2; esx2: starting; esx2: on; esx2: answers; esx2: answers; +5s; ups: out; ups2: out; +5s; ups: back; ups: off; esx2: off; +5s; esx2: silent; ups: on; esx2: starting; +1s; stop san", "1: san was told to stop while esx2 is starting"},
	{"an output under a server behind a strip", "ups2: out; +5s; outage; cluster: protected; nas: protected; san: off; twin: off; record no-return supplies=ups2; cut ups2", "3: the output of ups2 is cut while srv, which hangs on it through others, is on"},
	{"a stop of a host whose power blinked, unheard, right after it answered", vmsOff + "ups: empty; +1s; ups: silent; +1m; esx: answers; +5s; esx: dark; ups: off; ups: on; esx: starting; +5s; stop esx", ""},
	{"a stop of a host whose power blinked, unheard, a minute after it answered", vmsOff + "ups: empty; +1s; ups: silent; +1m; esx: answers; +1m; esx: dark; ups: off; ups: on; esx: starting; +5s; stop esx", "6: esx was told to stop while it starts"},
	{"a stop of a host whose UPS somebody switched on between two words of it", vmsOff + "esx: off; ups: off; ups: meddled; ups: on; esx: starting; stop esx", ""},
	{"a stop of what is off, with dirty data", vmsOff + "esx: off; nas: dirty; nas: off; +1m; nas: answers; nas: answers; stop nas", ""},
	{"a start of what goes by itself, one probe lost", dark + back + "nas: on; esx: on; lab: stopping; lab: answers; lab: answers; +1s; lab: silent; start lab", "6: lab was told to start while it stops"},
	{"forced with its power back, and does not hang", dark + "stop lab; lab: stopping; lab: answers; lab: answers; ups: back; +8s; lab: answers; force lab (x)", "21: lab keeps its power and was told to force"},
	{"forced with its power back, and hangs", dark + "stop lab; lab: stopping; lab: answers; lab: answers; ups: back; +6m; lab: answers; force lab (x)", ""},
}

func TestExcusesEnd(t *testing.T) {
	t.Parallel()
	tell(t, room(t, false), everything, excusesEnd)
	tell(t, room(t, true), everything, excusesEndLater)
}
