package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/printable"
	"ebbtide/internal/adapter/rest"
)

// conn is a connection to the API of a cluster.
type conn struct{ *rest.Client }

func connect(name string, spec *ConnSpec, secrets adapter.Secrets) (*conn, error) {
	client, err := rest.New(rest.Config{
		Name: name, Server: spec.Server,
		Login: func(ctx context.Context, c *rest.Client) (*rest.Session, error) {
			if err := ready(ctx, c); err != nil {
				return nil, err
			}
			token, err := secrets.Secret(spec.Token) // each time: a token may be renewed where it is kept
			if err != nil {
				return nil, fmt.Errorf("%w: cannot read the token of connection %q: %w", adapter.ErrRefused, name, err)
			}
			return &rest.Session{Header: http.Header{"Authorization": {"Bearer " + token}}}, nil
		},
	})
	if err != nil {
		return nil, err
	}
	return &conn{client}, nil
}

// ready reports whether the API server has started up. One that has not refuses accounts and rights that it does not know yet.
// Where strangers may not ask that, it is taken to have.
func ready(ctx context.Context, c *rest.Client) error {
	_, err := c.Send(ctx, rest.Request{Path: "/readyz", Asks: true})
	if errors.Is(err, adapter.ErrRefused) {
		return nil
	}
	return err
}

// do sends a request and says what to do about a refusal.
func (c *conn) do(ctx context.Context, r rest.Request) error {
	err := c.Do(ctx, r)
	status, answered := errors.AsType[*rest.StatusError](err)
	switch {
	case errors.Is(err, rest.ErrDenied):
		return fmt.Errorf("%w; the token may have expired, or its service account may have been recreated; kubectl create token, or a Secret of type "+
			"kubernetes.io/service-account-token, gives another", err)
	case answered && status.Code == http.StatusForbidden:
		if err := ready(ctx, c.Client); err != nil {
			return err
		}
		return fmt.Errorf("%w; give its service account the ClusterRole of docs/systems/kubernetes.md", err)
	}
	return err
}

// mark is the annotation of a node that is cordoned: what it was before. It is set with the cordon, in one patch, so that a
// cordon of somebody else's is told from this one.
const mark = "ebbtide/before"

// What a node may have been before, and what Settings say.
const (
	schedulable = "schedulable"
	cordoned    = "cordoned"
)

// nodeObject is what is read of a node.
type nodeObject struct {
	Metadata struct {
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata"`
	Spec struct {
		Unschedulable bool `json:"unschedulable"`
	} `json:"spec"`
	Status struct {
		Conditions []struct {
			Type   string `json:"type"`
			Status string `json:"status"`
		} `json:"conditions"`
	} `json:"status"`
}

// isCordonedByUs reports whether the node is cordoned, and by us.
func (o *nodeObject) isCordonedByUs() bool {
	return o.Spec.Unschedulable && o.Metadata.Annotations[mark] != ""
}

// before is what the node was before it was cordoned, or is now if it is not.
func (o *nodeObject) before() string {
	switch was := o.Metadata.Annotations[mark]; {
	case was == schedulable, was == cordoned:
		return was
	case o.Spec.Unschedulable:
		return cordoned
	}
	return schedulable
}

// ready reports whether its kubelet says that it is well. One that does not ends no pods.
func (o *nodeObject) ready() bool {
	for _, c := range o.Status.Conditions {
		if c.Type == "Ready" {
			return c.Status == "True"
		}
	}
	return true
}

func nodePath(name string) string { return "/api/v1/nodes/" + url.PathEscape(name) }

func (c *conn) node(ctx context.Context, name string) (*nodeObject, error) {
	var o nodeObject
	return &o, c.gone(name, c.do(ctx, rest.Request{Path: nodePath(name), Answer: &o, Asks: true}))
}

// patch changes a node (RFC 7396).
func (c *conn) patch(ctx context.Context, name string, change map[string]any) error {
	return c.gone(name, c.do(ctx, rest.Request{
		Method: http.MethodPatch, Path: nodePath(name), JSON: change,
		Header: http.Header{"Content-Type": {"application/merge-patch+json"}},
	}))
}

// gone turns "not found" into what it means for a node.
func (c *conn) gone(name string, err error) error {
	if code(err) == http.StatusNotFound {
		return fmt.Errorf("%w: the cluster has no node %q: kubectl get nodes lists them", adapter.ErrGone, name)
	}
	return err
}

// pod is what is read of a pod.
type pod struct {
	Metadata struct {
		Name              string            `json:"name"`
		Namespace         string            `json:"namespace"`
		UID               string            `json:"uid"`
		DeletionTimestamp string            `json:"deletionTimestamp"`
		Annotations       map[string]string `json:"annotations"`
		OwnerReferences   []struct {
			Kind       string `json:"kind"`
			Controller bool   `json:"controller"`
		} `json:"ownerReferences"`
	} `json:"metadata"`
}

func (p *pod) String() string { return p.Metadata.Namespace + "/" + p.Metadata.Name }

// ending reports whether the pod was told to end.
func (p *pod) ending() bool { return p.Metadata.DeletionTimestamp != "" }

// controller is the kind of what would create the pod again, "" if nothing would.
func (p *pod) controller() string {
	for _, o := range p.Metadata.OwnerReferences {
		if o.Controller {
			return o.Kind
		}
	}
	return ""
}

// page is how many pods are asked for at a time: a large one is some 20 kB.
const page = 100

// pods lists the pods of a node that have not finished.
func (c *conn) pods(ctx context.Context, node string) ([]pod, error) {
	var all []pod
	query := url.Values{
		"fieldSelector": {"spec.nodeName=" + node + ",status.phase!=Succeeded,status.phase!=Failed"},
		"limit":         {strconv.Itoa(page)},
	}
	for {
		var list struct {
			Metadata struct {
				Continue string `json:"continue"`
			} `json:"metadata"`
			Items []pod `json:"items"`
		}
		if err := c.do(ctx, rest.Request{Path: "/api/v1/pods", Query: query, Answer: &list, Asks: true}); err != nil {
			return nil, fmt.Errorf("cannot list its pods: %w", err)
		}
		all = append(all, list.Items...)
		if list.Metadata.Continue == "" {
			return all, nil
		}
		query.Set("continue", list.Metadata.Continue)
	}
}

// evict tells a pod to end, if that suits its budgets. A pod that is gone is no error, nor is another one of its name.
func (c *conn) evict(ctx context.Context, p *pod) error {
	type object = map[string]any
	err := c.do(ctx, rest.Request{
		Method: http.MethodPost,
		Path:   "/api/v1/namespaces/" + url.PathEscape(p.Metadata.Namespace) + "/pods/" + url.PathEscape(p.Metadata.Name) + "/eviction",
		JSON: object{
			"apiVersion": "policy/v1", "kind": "Eviction",
			"metadata":      object{"name": p.Metadata.Name, "namespace": p.Metadata.Namespace},
			"deleteOptions": object{"preconditions": object{"uid": p.Metadata.UID}},
		},
	})
	switch code(err) {
	case http.StatusNotFound, http.StatusConflict:
		return nil
	case http.StatusTooManyRequests, http.StatusInternalServerError: // the latter for a pod with several budgets
		return fmt.Errorf("%w: %s is held: %s", adapter.ErrBusy, p, budget(err))
	}
	return err
}

// budget says in the server's words why a pod is not evicted; the budget is named in the causes.
func budget(err error) string {
	status, _ := errors.AsType[*rest.StatusError](err)
	var said struct {
		Message string `json:"message"`
		Details struct {
			Causes []struct {
				Message string `json:"message"`
			} `json:"causes"`
		} `json:"details"`
	}
	if json.Unmarshal(status.Body, &said) != nil {
		return printable.Text(err.Error(), 200)
	}
	if causes := said.Details.Causes; len(causes) > 0 && causes[0].Message != "" {
		return printable.Text(causes[0].Message, 200)
	}
	return printable.Text(said.Message, 200)
}

// code is the status of an answer that is no success, 0 of any other error.
func code(err error) int {
	if status, ok := errors.AsType[*rest.StatusError](err); ok {
		return status.Code
	}
	return 0
}
