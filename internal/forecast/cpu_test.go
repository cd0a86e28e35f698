package forecast

import (
	"syscall"
	"time"
)

// processor gives the processor time that this process has used. Unlike the wall clock it does not count neighbours.
func processor() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
