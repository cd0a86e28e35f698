package kubetest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

type object = map[string]any

func answer(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body)
}

// refuse answers with a Status, as the API does for all that is no success.
func refuse(w http.ResponseWriter, code int, reason, message string, causes ...any) {
	answer(w, code, object{
		"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, "message": message,
		"details": object{"causes": causes},
	})
}

func (c *Cluster) serve(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.frozen {
		c.hang(r)
	}
	part := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch route := r.Method + " " + r.URL.Path; {
	case route == "GET /readyz" && c.booting:
		http.Error(w, "[-]poststarthook/rbac/bootstrap-roles failed: not finished", http.StatusInternalServerError)
	case route == "GET /readyz":
		_, _ = w.Write([]byte("ok"))
	case r.Header.Get("Authorization") != "Bearer "+c.Token:
		refuse(w, http.StatusUnauthorized, "Unauthorized", "Unauthorized")
	case strings.HasPrefix(route, "GET /api/v1/nodes/") && len(part) == 4 && c.may(w, "get", "nodes"):
		c.node(w, part[3], nil)
	case strings.HasPrefix(route, "PATCH /api/v1/nodes/") && len(part) == 4 && c.may(w, "patch", "nodes"):
		c.node(w, part[3], r)
	case route == "GET /api/v1/pods" && c.may(w, "list", "pods"):
		c.list(w, r)
	case r.Method == http.MethodPost && len(part) == 7 && part[6] == "eviction" && c.may(w, "create", "pods/eviction"):
		c.evict(w, r, part[3], part[5])
	default:
		if w.Header().Get("Content-Type") == "" { // nothing was answered yet
			refuse(w, http.StatusNotFound, "NotFound", "the server could not find the requested resource")
		}
	}
}

// hang answers nothing until nobody waits for it any more. The lock is held, but for that time.
func (c *Cluster) hang(r *http.Request) {
	c.mu.Unlock()
	select {
	case <-r.Context().Done():
	case <-c.ctx.Done():
	}
	c.mu.Lock()
	panic(http.ErrAbortHandler)
}

// may answers for RBAC.
func (c *Cluster) may(w http.ResponseWriter, verb, resource string) bool {
	if !c.booting && !c.denied[verb+" "+resource] {
		return true
	}
	refuse(w, http.StatusForbidden, "Forbidden", fmt.Sprintf(
		`%s is forbidden: User "system:serviceaccount:ebbtide:ebbtide" cannot %s resource %q in API group "" at the cluster scope`,
		resource, verb, resource))
	return false
}

// node answers with a node, after a merge patch if there is one (RFC 7396).
func (c *Cluster) node(w http.ResponseWriter, name string, patch *http.Request) {
	n, ok := c.nodes[name]
	if !ok {
		refuse(w, http.StatusNotFound, "NotFound", fmt.Sprintf("nodes %q not found", name))
		return
	}
	if patch != nil {
		if kind := patch.Header.Get("Content-Type"); kind != "application/merge-patch+json" {
			refuse(w, http.StatusUnsupportedMediaType, "UnsupportedMediaType", "the body of the request was in an unknown format: "+kind)
			return
		}
		var change object
		if err := json.NewDecoder(patch.Body).Decode(&change); err != nil {
			refuse(w, http.StatusBadRequest, "BadRequest", err.Error())
			return
		}
		merge(n, change)
		c.given = append(c.given, fmt.Sprintf("patch %s unschedulable=%t", name, c.unschedulable(name)))
	}
	answer(w, http.StatusOK, n)
}

func merge(into, from object) {
	for key, value := range from {
		switch inner, nested := value.(object); {
		case value == nil:
			delete(into, key)
		case nested:
			below, ok := into[key].(object)
			if !ok {
				below = object{}
				into[key] = below
			}
			merge(below, inner)
		default:
			into[key] = value
		}
	}
}

// list answers with the pods that a field selector selects, in pages.
func (c *Cluster) list(w http.ResponseWriter, r *http.Request) {
	items := []any{}
	for _, p := range c.pods {
		phase := "Running"
		switch {
		case p.Finished:
			phase = "Succeeded"
		case p.Node == "":
			phase = "Pending"
		}
		fields := map[string]string{"spec.nodeName": p.Node, "status.phase": phase}
		fits := true
		for term := range strings.SplitSeq(r.URL.Query().Get("fieldSelector"), ",") {
			key, value, _ := strings.Cut(term, "=")
			not := strings.HasSuffix(key, "!")
			fits = fits && (fields[strings.TrimSuffix(key, "!")] == value) != not
		}
		if fits {
			items = append(items, p.object(phase))
		}
	}
	from, _ := strconv.Atoi(r.URL.Query().Get("continue"))
	limit, err := strconv.Atoi(r.URL.Query().Get("limit"))
	if err != nil {
		limit = len(items)
	}
	items = items[min(from, len(items)):]
	meta := object{}
	if len(items) > limit {
		items = items[:limit]
		meta["continue"] = strconv.Itoa(from + limit)
	}
	answer(w, http.StatusOK, object{"kind": "PodList", "apiVersion": "v1", "metadata": meta, "items": items})
}

func (p *Pod) object(phase string) object {
	meta := object{"name": p.Name, "namespace": p.Namespace, "uid": strconv.Itoa(p.uid)}
	switch {
	case p.Mirror:
		meta["annotations"] = object{"kubernetes.io/config.mirror": "abc"}
		meta["ownerReferences"] = []any{object{"kind": "Node", "name": p.Node, "controller": true}}
	case p.Controller != "":
		meta["ownerReferences"] = []any{object{"kind": p.Controller, "controller": true}}
	}
	if p.ending {
		meta["deletionTimestamp"] = "2026-01-01T00:00:00Z"
	}
	return object{"metadata": meta, "spec": object{"nodeName": p.Node}, "status": object{"phase": phase}}
}

// evict does as documented: a pod that is ending, pending or finished needs no budget; one budget may say not now; two are
// a mistake of their owner's.
func (c *Cluster) evict(w http.ResponseWriter, r *http.Request, namespace, name string) {
	c.given = append(c.given, "evict "+name)
	var e struct {
		APIVersion, Kind string
		Metadata         struct{ Name, Namespace string }
		DeleteOptions    struct{ Preconditions struct{ UID string } }
	}
	err := json.NewDecoder(r.Body).Decode(&e)
	if err != nil || e.APIVersion != "policy/v1" || e.Kind != "Eviction" || e.Metadata.Name != name || e.Metadata.Namespace != namespace {
		refuse(w, http.StatusBadRequest, "BadRequest", "this is no eviction of "+name)
		return
	}
	at := slices.IndexFunc(c.pods, func(p *Pod) bool { return p.Namespace == namespace && p.Name == name })
	if at < 0 {
		refuse(w, http.StatusNotFound, "NotFound", fmt.Sprintf("pods %q not found", name))
		return
	}
	p := c.pods[at]
	if uid := e.DeleteOptions.Preconditions.UID; uid != "" && uid != strconv.Itoa(p.uid) {
		refuse(w, http.StatusConflict, "Conflict", "the UID in the precondition does not match the UID in record")
		return
	}
	if p.healthy() && !c.within(w, p) {
		return
	}
	if !p.ending {
		c.finish(p)
	}
	answer(w, http.StatusCreated, object{"kind": "Status", "apiVersion": "v1", "status": "Success"})
}

// within holds an eviction against the budgets.
func (c *Cluster) within(w http.ResponseWriter, p *Pod) bool {
	var of []Budget
	for _, b := range c.budgets {
		if b.App == p.App {
			of = append(of, b)
		}
	}
	if len(of) > 1 {
		refuse(w, http.StatusInternalServerError, "InternalError",
			"This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.")
		return false
	}
	if len(of) == 0 {
		return true
	}
	healthy := 0
	for _, q := range c.pods {
		if q.App == p.App && q.healthy() {
			healthy++
		}
	}
	if healthy > of[0].Min {
		return true
	}
	refuse(w, http.StatusTooManyRequests, "TooManyRequests", "Cannot evict pod as it would violate the pod's disruption budget.", object{
		"reason":  "DisruptionBudget",
		"message": fmt.Sprintf("The disruption budget %s needs %d healthy pods and has %d currently", of[0].Name, of[0].Min, healthy),
	})
	return false
}
