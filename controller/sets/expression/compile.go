package expression

import (
	"errors"
	"fmt"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"k8s.io/utils/lru"

	"github.com/dogear-dev/dogear/config/v1alpha1"
)

// cached bounds the compiled expressions that are kept, of all sets together.
// One takes about 10 KB.
const cached = 2048

// programs keeps what compile made, so that a change of one set does not
// compile those of all others again.
var programs = lru.New(cached)

type source struct {
	kind v1alpha1.ExpressionKind
	text string
}

// program is a compiled expression. Goroutines may share it.
type program struct {
	cel.Program
	ast  *ast.AST
	text string
}

// Check tells in one line where and why an expression does not compile or
// cannot yield what its kind needs; nil: it is fine. It is a
// [v1alpha1.ExpressionChecker].
func Check(kind v1alpha1.ExpressionKind, text string) error {
	_, err := compile(kind, text)
	return err
}

func compile(kind v1alpha1.ExpressionKind, text string) (*program, error) {
	key := source{kind, text}
	if known, ok := programs.Get(key); ok {
		return known.(*program), nil
	}
	env, err := environment(kind)
	if err != nil {
		return nil, fmt.Errorf("make the environment of a %s: %w", kind, err)
	}
	compiled, issues := env.Compile(text)
	if issues.Err() != nil {
		return nil, mistake(issues)
	}
	p := &program{ast: compiled.NativeRep(), text: text}
	if err := p.check(kind); err != nil {
		return nil, err
	}
	if p.Program, err = env.Program(compiled, programOptions()...); err != nil {
		return nil, errors.New(oneLine(err.Error()))
	}
	programs.Add(key, p)
	return p, nil
}

// check finds what compiles and still cannot work.
func (p *program) check(kind v1alpha1.ExpressionKind) error {
	root := ast.NavigateAST(p.ast)
	yields := p.ast.GetType(root.ID())
	if kind == v1alpha1.ExpressionDefault {
		if yields.Kind() == types.TypeKind {
			return p.at(root.ID(), "it yields a type, which is no JSON value")
		}
		return nil
	}
	if yields.Kind() != types.BoolKind && yields.Kind() != types.DynKind {
		return p.at(root.ID(), "it yields a value of type %s: want a bool", yields)
	}
	return p.checkSeen(root)
}

// at is an error with its place in the text.
func (p *program) at(id int64, format string, args ...any) error {
	message := fmt.Sprintf(format, args...)
	place := p.ast.SourceInfo().GetStartLocation(id)
	if place.Line() < 1 {
		return errors.New(message)
	}
	return fmt.Errorf("line %d, column %d: %s", place.Line(), place.Column()+1, message)
}

// mistake is the first of the issues: those behind it often follow from it.
func mistake(issues *cel.Issues) error {
	first := issues.Errors()[0]
	message, _, _ := strings.Cut(first.Message, " expecting {") // dozens of tokens
	message = strings.ReplaceAll(oneLine(message), " (in container '')", "")
	if first.Location.Line() < 1 {
		return errors.New(message)
	}
	return fmt.Errorf("line %d, column %d: %s", first.Location.Line(), max(first.Location.Column()+1, 1), message)
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
