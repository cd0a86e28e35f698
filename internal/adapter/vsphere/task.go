package vsphere

import (
	"context"
	"errors"

	"github.com/vmware/govmomi/vim25/types"
)

// failure tells how a task failed; nil if it runs, has succeeded or can't be asked: only a failure is news.
func (c *Conn) failure(ctx context.Context, task ref) error {
	_, err := c.result(ctx, task)
	return err
}

// result gives the result of a task, nil if it has none yet or can't be asked, and how it failed.
func (c *Conn) result(ctx context.Context, task ref) (result any, failed error) {
	objects, err := c.read(ctx, types.PropertyFilterSpec{
		ObjectSet: []types.ObjectSpec{{Obj: task}},
		PropSet:   []types.PropertySpec{{Type: "Task", PathSet: []string{"info.error", "info.result"}}},
	})
	if err != nil {
		return nil, nil
	}
	for _, o := range objects {
		for _, p := range o.PropSet {
			if f, ok := p.Val.(types.LocalizedMethodFault); ok {
				return nil, errors.New(f.LocalizedMessage)
			}
			result = p.Val
		}
	}
	return result, nil
}
