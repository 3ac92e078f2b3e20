package webhook

import (
	"encoding/json"
	"net/http"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"
)

// maxUID bounds what is sent back to an unknown client. A real uid has 36 bytes.
const maxUID = 128

var reviewType = metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "AdmissionReview"}

// decodeReview reads an AdmissionReview v1. Unknown fields are let through, as a
// newer API server may send them; objects stay raw. The refusals have fixed
// texts: an error of the decoder can carry a piece of the body.
func decodeReview(body []byte) (*admissionv1.AdmissionRequest, *refusal) {
	if len(body) == 0 {
		return nil, invalid("the body is empty, an AdmissionReview is needed")
	}
	review := admissionv1.AdmissionReview{}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(body, &review); err != nil {
		return nil, invalid("the body can't be read as JSON of an AdmissionReview")
	}
	request := review.Request
	switch {
	case review.TypeMeta != reviewType:
		return nil, invalid("the body is not an AdmissionReview of admission.k8s.io/v1")
	case request == nil:
		return nil, invalid("the AdmissionReview has no request")
	case request.UID == "" || len(request.UID) > maxUID:
		return nil, invalid("the request of the AdmissionReview has no usable uid")
	case !known(request.Operation):
		return nil, invalid("the request of the AdmissionReview has an unknown operation")
	}
	return request, nil
}

func known(operation admissionv1.Operation) bool {
	switch operation {
	case admissionv1.Create, admissionv1.Update, admissionv1.Delete, admissionv1.Connect:
		return true
	}
	return false
}

// encodeReview makes the body of the answer. The response is copied, so that an
// admitter may answer with the same one again and again.
func encodeReview(request *admissionv1.AdmissionRequest, given *admissionv1.AdmissionResponse) ([]byte, error) {
	response := *given
	response.UID = request.UID
	if request.Operation == admissionv1.Delete || request.Operation == admissionv1.Connect {
		// The API server answers a patch for these with 500, also under Ignore.
		response.Patch, response.PatchType = nil, nil
	}
	if len(response.Patch) > 0 && response.PatchType == nil {
		jsonPatch := admissionv1.PatchTypeJSONPatch
		response.PatchType = &jsonPatch
	}
	return json.Marshal(admissionv1.AdmissionReview{TypeMeta: reviewType, Response: &response})
}

// refusal is an answer without a decision about the object. Its text is fixed.
type refusal struct {
	status   int
	decision string
	text     string
	retry    bool
}

func (r *refusal) write(w http.ResponseWriter) {
	if r.retry {
		// The API server then tries again within the webhook's timeout; without
		// the header it fails open at once. One second is the least it knows.
		w.Header().Set("Retry-After", "1")
	}
	http.Error(w, r.text, r.status)
}

func invalid(text string) *refusal {
	return &refusal{status: http.StatusBadRequest, decision: DecisionInvalid, text: text}
}
