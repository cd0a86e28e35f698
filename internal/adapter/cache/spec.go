// Package cache serves write-back caches and pools on hosts that are reached by SSH: bcache, LVM's dm-cache and
// dm-writecache, ZFS, Open CAS, RAID controllers and the drives' own caches.
//
// Each of them is a node between what it caches and what uses that. Protect takes it to write-through at once, so that from
// then on nothing that was acknowledged is in it alone; Flush empties it once its users are off; a probe of the system's own
// counters proves both; Unprotect puts back what was set before. All that runs on the host are fixed commands, as argument
// lists, by "sudo -n" unless the connection's user is root.
package cache

import (
	"errors"
	"time"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/ssh"
	"ebbtide/internal/manual"
	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

// declared is what the spec of each type can do.
type declared interface {
	// system gives how the system is worked with.
	system() system
	// mistakes finds what the decoder can't see.
	mistakes() []error
	// verbs tells what it can do.
	verbs() plan.Verbs
	// typed are the commands for people.
	typed() typed
}

// caching are the verbs of a cache.
const caching = plan.Verbs(1<<plan.Protect | 1<<plan.Flush | 1<<plan.Unprotect)

// Family serves the nodes of this package, over connections of type "ssh".
func Family() adapter.Family {
	return adapter.Family{
		Nodes: []schema.AnyNodeType{
			of[BcacheSpec]("bcache", "a bcache device: write-through, proven clean by its state and its dirty data, detached if it "+
				"stands still", seconds(5, 60)),
			of[LVMCacheSpec]("lvm.cache", "a logical volume with an LVM cache (dm-cache): write-through once its dirty blocks are written",
				minutes(2, 20)),
			of[LVMWritecacheSpec]("lvm.writecache",
				"a logical volume with an LVM writecache (dm-writecache): its cleaner, until all blocks are free", seconds(5, 60)),
			of[ZFSSpec]("zfs", "a ZFS pool: zpool sync, proven by its transaction groups, and exported if asked for", seconds(2, 30)),
			of[OpenCASSpec]("opencas", "an Open CAS cache: write-through, flushed, no dirty blocks left", seconds(5, 60)),
			of[MegaRAIDSpec]("megaraid", "a MegaRAID or PERC controller: write-through for all its virtual drives, its cache flushed",
				seconds(10, 90)),
			of[SmartArraySpec]("smartarray", "an HPE Smart Array controller: its array accelerator off for all logical drives",
				seconds(10, 90)),
			of[DriveSpec]("drive.cache", "the write caches of drives themselves, switched off", seconds(5, 60)),
		},
		Open: open,
	}
}

// of makes the node type whose spec is S.
func of[S any, P interface {
	*S
	declared
}](name, doc string, protect plan.Times,
) schema.AnyNodeType {
	return schema.NodeType[S]{
		Traits: schema.Traits{
			Name: name,
			Doc:  doc,
			Kind: plan.Other,
			Risk: plan.Storage,
			Via:  []string{"ssh"},
			Times: map[plan.Verb]plan.Times{
				plan.Protect:   protect,
				plan.Flush:     minutes(1, 15), // what is dirty, at the pace of the slowest disk
				plan.Stop:      seconds(10, 180),
				plan.Start:     seconds(20, 600),
				plan.Unprotect: seconds(5, 120),
			},
		},
		Check: func(s *S) []error { return P(s).mistakes() },
		Verbs: func(s *S) plan.Verbs { return P(s).verbs() },
		ByHand: func(d *schema.Node, s *S, places func(string) manual.Endpoint) manual.Procedure {
			return P(s).typed().hand(places(d.Via))
		},
	}.Any()
}

func seconds(nominal, within int) plan.Times {
	return plan.Times{Nominal: time.Duration(nominal) * time.Second, Within: time.Duration(within) * time.Second}
}

func minutes(nominal, within int) plan.Times { return seconds(60*nominal, 60*within) }

func open(d schema.Node, via adapter.Conn, _ func(string) (adapter.Conn, error)) (adapter.Node, error) {
	conn, err := adapter.Via[*ssh.Conn](via, "ssh")
	if err != nil {
		return nil, err
	}
	spec := d.Spec.(declared)
	if err := errors.Join(spec.mistakes()...); err != nil {
		return nil, err
	}
	return &node{id: d.ID, can: spec.verbs(), at: host{conn}, system: spec.system()}, nil
}
