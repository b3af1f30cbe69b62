package webhook

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
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

// The bounds of one call, and of all at once.
const (
	maxBodyBytes = 8 << 20 // an API server takes 3 MiB of a client, and sends little more than that on
	maxCalls     = 32      // further ones wait
	readWithin   = 10 * time.Second
)

// auditKey is the audit annotation that says what was done; the API server puts the webhook's name before it.
const auditKey = "holder"

// Handler answers calls of API servers. Begin it with New.
type Handler struct {
	policy  func() (inject.Policy, error)
	inject  func(pod []byte, namespace string, p inject.Policy) (inject.Result, error)
	metrics *Metrics
	log     logr.Logger
	calls   chan struct{}
}

// New returns a handler that asks policy what to do at every call; an error of it lets the pod through as it is.
func New(policy func() (inject.Policy, error), m *Metrics, log logr.Logger) *Handler {
	return &Handler{policy: policy, inject: inject.Inject, metrics: m, log: log, calls: make(chan struct{}, maxCalls)}
}

// ServeHTTP answers one AdmissionReview. What is none gets a 400 or a 413, which an API server takes for a failed call.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	select {
	case h.calls <- struct{}{}:
		defer func() { <-h.calls }()
	case <-r.Context().Done():
		return
	}
	begin := time.Now()
	review, status, err := read(w, r)
	if err != nil {
		h.metrics.reviewed("", outcomeUnreadable, time.Since(begin))
		h.log.Error(err, "a call cannot be read")
		http.Error(w, err.Error(), status)
		return
	}
	flavour, outcome, response := h.answer(review.Request)
	review.Request, review.Response = nil, response
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(review); err != nil {
		h.log.Error(err, "an answer cannot be sent", "uid", response.UID)
	}
	h.metrics.reviewed(flavour, outcome, time.Since(begin))
}

// read takes one AdmissionReview from a bounded body, within a bounded time.
func read(w http.ResponseWriter, r *http.Request) (*admissionv1.AdmissionReview, int, error) {
	if r.Method != http.MethodPost {
		return nil, http.StatusMethodNotAllowed, fmt.Errorf("%s is not how an AdmissionReview is sent", r.Method)
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(readWithin)) // a test's recorder has none
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBodyBytes))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, http.StatusRequestEntityTooLarge, fmt.Errorf("the body is larger than %d bytes", tooLarge.Limit)
	case err != nil:
		return nil, http.StatusBadRequest, fmt.Errorf("read the body: %w", err)
	}
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(body, &review); err != nil {
		return nil, http.StatusBadRequest, errors.New("the body is no AdmissionReview in JSON") // the cause may quote the pod
	}
	if review.APIVersion != admissionv1.SchemeGroupVersion.String() || review.Kind != "AdmissionReview" || review.Request == nil {
		return nil, http.StatusBadRequest, fmt.Errorf("the body is no request of %s", admissionv1.SchemeGroupVersion)
	}
	return &review, http.StatusOK, nil
}

// answer allows what is asked, with a patch where a holder is to be added.
func (h *Handler) answer(req *admissionv1.AdmissionRequest) (f inject.Flavour, o outcome, response *admissionv1.AdmissionResponse) {
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
	result, err := h.inject(req.Object.Raw, req.Namespace, policy)
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

func allowed(req *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	return &admissionv1.AdmissionResponse{UID: req.UID, Allowed: true}
}

// failedOpen lets a pod through that nothing could be decided about, and tells whoever makes it.
func failedOpen(req *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	r := allowed(req)
	r.Warnings = []string{"holdfast: this pod gets no holder, because the injector failed; see its log. What is held stays held, and nothing is applied by this pod"}
	r.AuditAnnotations = map[string]string{auditKey: string(outcomeFailed)}
	return r
}

// nameOf is what a pod will be called, as far as it is known when it is made.
func nameOf(req *admissionv1.AdmissionRequest) string {
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
