package vsphere

import (
	"context"
	"errors"

	"github.com/vmware/govmomi/vim25/types"
)

// failure tells how a task failed; nil if it runs, has succeeded or can't be asked: only a failure is news.
func (c *Conn) failure(ctx context.Context, task ref) error {
	objects, err := c.read(ctx, types.PropertyFilterSpec{
		ObjectSet: []types.ObjectSpec{{Obj: task}},
		PropSet:   []types.PropertySpec{{Type: "Task", PathSet: []string{"info.error"}}},
	})
	if err != nil {
		return nil
	}
	for _, o := range objects {
		for _, p := range o.PropSet {
			if f, ok := p.Val.(types.LocalizedMethodFault); ok {
				return errors.New(f.LocalizedMessage)
			}
		}
	}
	return nil
}
