package expression

import (
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/ext"
	"github.com/google/cel-go/interpreter"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/library"

	"github.com/dogear-dev/dogear/config/v1alpha1"
)

const (
	// CostLimit bounds one evaluation, in CEL's units: about one for each step,
	// and one for every ten characters of text that is read. As measured, it is
	// used up in 2 to 7 ms of a CPU. Kubernetes allows 500 times as much.
	CostLimit = 20_000
	// SizeLimit bounds an expression, in characters.
	SizeLimit = 4096

	maxPrecision = 20   // digits behind the point that format writes
	maxRange     = 1000 // items that lists.range makes
	maxDepth     = 64   // of an expression
)

// Names of what expressions see.
const (
	object          = "object"
	request         = "request"
	namespaceObject = "namespaceObject"
)

// environment returns what expressions of a kind are compiled in. Making one
// takes milliseconds, and it never changes.
func environment(kind v1alpha1.ExpressionKind) (*cel.Env, error) {
	if kind == v1alpha1.ExpressionDefault {
		return defaults()
	}
	return conditions()
}

var (
	conditions = sync.OnceValues(func() (*cel.Env, error) { return cel.NewEnv(base()...) })
	defaults   = sync.OnceValues(func() (*cel.Env, error) {
		env, err := cel.NewEnv(base()...)
		if err != nil {
			return nil, err
		}
		types, err := requestType().EnvOptions(env.CELTypeProvider())
		if err != nil {
			return nil, err
		}
		return env.Extend(append(types, cel.Variable(request, cel.ObjectType(requestName)), cel.Variable(namespaceObject, cel.DynType))...)
	})
)

// base is the language: that of k8s.io/apiserver/pkg/cel/environment at 1.37,
// less the authorizer and the rule that lists and maps are of one type. That
// package brings the feature gates and versions of an API server along.
func base() []cel.EnvOption {
	return []cel.EnvOption{
		cel.Variable(object, cel.DynType),
		cel.EagerlyValidateDeclarations(true),
		cel.DefaultUTCTimeZone(true),
		cel.CrossTypeNumericComparisons(true),
		cel.OptionalTypes(),
		cel.ParserExpressionSizeLimit(SizeLimit),
		cel.ExpressionNestingDepthLimit(maxDepth),
		cel.ASTValidators(cel.ValidateDurationLiterals(), cel.ValidateTimestampLiterals(), cel.ValidateRegexLiterals()),
		ext.Strings(ext.StringsVersion(2), ext.StringsMaxPrecision(maxPrecision)),
		ext.Lists(ext.ListsVersion(3), ext.ListsMaxRangeSize(maxRange)),
		ext.Sets(),
		ext.TwoVarComprehensions(),
		library.Lists(library.ListsVersion(1)),
		library.URLs(),
		library.Regex(),
		library.Quantity(),
		library.IP(),
		library.CIDR(),
		library.Format(),
		library.SemverLib(library.SemverVersion(1)),
	}
}

func programOptions() []cel.ProgramOption {
	return []cel.ProgramOption{
		cel.EvalOptions(cel.OptOptimize, cel.OptTrackCost),
		cel.CostLimit(CostLimit),
		cel.CostTracking(&costs{}),
		cel.CostTrackerOptions(interpreter.PresenceTestHasCost(false)),
	}
}

const requestName = "dogear.Request"

// requestType declares the fields of request, so that a mistyped name is
// found when the expression is compiled.
func requestType() *apiservercel.DeclTypeProvider {
	text := apiservercel.StringType
	texts := apiservercel.NewListType(text, -1)
	fields := func(types map[string]*apiservercel.DeclType) map[string]*apiservercel.DeclField {
		out := map[string]*apiservercel.DeclField{}
		for name, kind := range types {
			out[name] = apiservercel.NewDeclField(name, kind, true, nil, nil)
		}
		return out
	}
	user := apiservercel.NewObjectType("dogear.UserInfo", fields(map[string]*apiservercel.DeclType{
		"username": text, "uid": text, "groups": texts, "extra": apiservercel.NewMapType(text, texts, -1),
	}))
	return apiservercel.NewDeclTypeProvider(apiservercel.NewObjectType(requestName, fields(map[string]*apiservercel.DeclType{
		"operation": text, "userInfo": user,
	})))
}
