package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/holdfast-gitops/holdfast/injector/inject"
)

// Path is where the webhook is served.
const Path = "/mutate-pod"

// maxCalls is how many calls are thought about at a time. Each takes memory, and a moment; further ones wait.
const maxCalls = 4

// reviewType is what an answer calls itself.
var reviewType = metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "AdmissionReview"}

// auditKey is the audit annotation that says what was done; the API server puts the webhook's name before it.
const auditKey = "holder"

// Handler answers calls of API servers. Begin it with New.
type Handler struct {
	policy  func() (inject.Policy, error)
	room    func(ctx context.Context, namespace string) (inject.Room, error)
	inject  func(pod []byte, namespace string, p inject.Policy, room inject.Room) (inject.Result, error)
	metrics *Metrics
	log     logr.Logger
	intake  intake
	calls   chan struct{}
}

// New returns a handler that asks policy what to do at every call; an error of it lets the pod through as it is. room says
// what a namespace allows, such as RoomOf does.
func New(policy func() (inject.Policy, error), room func(ctx context.Context, namespace string) (inject.Room, error), m *Metrics, log logr.Logger) *Handler {
	return &Handler{policy: policy, room: room, inject: inject.Inject, metrics: m, log: log, intake: intake{from: map[string]*share{}}, calls: make(chan struct{}, maxCalls)}
}

// ServeHTTP answers one AdmissionReview. What is none gets a 400 or a 413, which an API server takes for a failed call.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	begin := time.Now()
	address, n := weight(r)
	back, err := h.intake.take(r.Context(), address, n)
	if err != nil {
		return // nobody waits for the answer any more
	}
	defer back()
	text, status, err := body(w, r)
	if err != nil {
		h.unreadable(w, err, status, begin)
		return
	}
	answer, err := h.think(r.Context(), text)
	switch {
	case r.Context().Err() != nil:
		return
	case err != nil:
		h.unreadable(w, err, http.StatusBadRequest, begin)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(admissionv1.AdmissionReview{TypeMeta: reviewType, Response: answer.response}); err != nil {
		h.log.Error(err, "an answer cannot be sent", "uid", answer.response.UID)
	}
	h.metrics.reviewed(answer.flavour, answer.outcome, time.Since(begin))
}

func (h *Handler) unreadable(w http.ResponseWriter, err error, status int, begin time.Time) {
	h.metrics.reviewed("", outcomeUnreadable, time.Since(begin))
	h.log.Error(err, "a call cannot be read")
	http.Error(w, err.Error(), status)
}

// answered is what is said to an API server, and what is counted of it.
type answered struct {
	flavour  inject.Flavour
	outcome  outcome
	response *admissionv1.AdmissionResponse
}

// think answers the call in text once it is its turn. Whoever is slow to send or to take is not waited for here.
func (h *Handler) think(ctx context.Context, text []byte) (answered, error) {
	select {
	case h.calls <- struct{}{}:
		defer func() { <-h.calls }()
	case <-ctx.Done():
		return answered{}, ctx.Err()
	}
	req, err := read(text)
	if err != nil {
		return answered{}, err
	}
	var a answered
	a.flavour, a.outcome, a.response = h.answer(ctx, req)
	return a, nil
}

// answer allows what is asked, with a patch where a holder is to be added.
func (h *Handler) answer(ctx context.Context, req *call) (f inject.Flavour, o outcome, response *admissionv1.AdmissionResponse) {
	log := h.log.WithValues("namespace", req.Namespace, "pod", nameOf(req), "uid", req.UID)
	defer func() {
		if p := recover(); p != nil {
			log.Error(fmt.Errorf("panic: %T", p), "a pod is let through as it is") // what it says may quote the pod
			o, response = outcomeFailed, failedOpen(req)
		}
	}()
	if req.Resource != (metav1.GroupVersionResource{Version: "v1", Resource: "pods"}) || req.SubResource != "" || req.Operation != admissionv1.Create {
		return "", outcomeNotAPod, allowed(req)
	}
	policy, err := h.policy()
	if err != nil {
		log.Error(err, "a pod is let through as it is")
		return "", outcomeFailed, failedOpen(req)
	}
	result, err := h.judge(ctx, log, req.Object.Raw, req.Namespace, policy)
	if err != nil {
		log.Error(err, "a pod is let through as it is")
		return "", outcomeFailed, failedOpen(req)
	}
	response = allowed(req)
	response.Warnings = result.Warnings
	if result.Skip != "" {
		log.V(1).Info("a pod is left as it is", "flavour", result.Flavour, "reason", result.Skip)
		response.AuditAnnotations = map[string]string{auditKey: string(result.Skip)}
		return result.Flavour, outcome(result.Skip), response
	}
	if response.Patch, err = json.Marshal(result.Patch); err != nil {
		log.Error(err, "a pod is let through as it is")
		return result.Flavour, outcomeFailed, failedOpen(req)
	}
	response.PatchType = ptr.To(admissionv1.PatchTypeJSONPatch)
	response.AuditAnnotations = map[string]string{auditKey: string(outcomeInjected)}
	log.Info("a pod gets a holder", "flavour", result.Flavour, "dryRun", ptr.Deref(req.DryRun, false))
	return result.Flavour, outcomeInjected, response
}

func allowed(req *call) *admissionv1.AdmissionResponse {
	return &admissionv1.AdmissionResponse{UID: req.UID, Allowed: true}
}

// failedOpen lets a pod through that nothing could be decided about, and tells whoever makes it.
func failedOpen(req *call) *admissionv1.AdmissionResponse {
	r := allowed(req)
	r.Warnings = []string{"holdfast: this pod gets no holder, because the injector failed; see its log. What is held stays held, and nothing is applied by this pod"}
	r.AuditAnnotations = map[string]string{auditKey: string(outcomeFailed)}
	return r
}

// nameOf is what a pod will be called, as far as it is known when it is made.
func nameOf(req *call) string {
	if req.Name != "" {
		return req.Name
	}
	var meta struct {
		Metadata struct {
			GenerateName string `json:"generateName"`
		} `json:"metadata"`
	}
	if json.Unmarshal(req.Object.Raw, &meta) != nil {
		return ""
	}
	return meta.Metadata.GenerateName
}
