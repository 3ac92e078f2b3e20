package expression

import (
	"math"

	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"k8s.io/apiserver/pkg/cel/library"
)

// patternCost is added for each use of a regular expression. Those that are
// made of data are compiled each time, which takes longer than most matches.
const patternCost = 20

// costs are those of Kubernetes, with a price for regular expressions that is
// nearer to the time they take.
type costs struct{ library.CostEstimator }

func (c *costs) CallCost(function, overload string, args []ref.Val, result ref.Val) *uint64 {
	cost := c.CostEstimator.CallCost(function, overload, args, result)
	switch function {
	case "find", "findAll":
		if cost != nil {
			*cost += patternCost
		}
	case overloads.Matches:
		if len(args) == 2 && cost == nil {
			matched := patternCost + matchCost(args[0], args[1])
			cost = &matched
		}
	}
	return cost
}

// matchCost is CEL's own.
func matchCost(text, pattern ref.Val) uint64 {
	t, _ := text.(types.String)
	p, _ := pattern.(types.String)
	return uint64(math.Ceil(float64(len(t)+1)*common.StringTraversalCostFactor) * math.Ceil(float64(len(p))*common.RegexStringLengthCostFactor))
}
