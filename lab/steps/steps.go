// Package steps runs steps that end at the first error, as those of testing.T do in tests.
package steps

import (
	"context"

	"golang.org/x/sync/errgroup"
)

// failure is the panic with which a step ends the steps of Run.
type failure struct{ error }

// Run runs steps until Must ends them. It returns the error of Must.
func Run(steps func()) (err error) {
	defer func() {
		switch x := recover().(type) {
		case nil:
		case failure:
			err = x.error
		default:
			panic(x)
		}
	}()
	steps()
	return nil
}

// Must ends the steps of Run if one of the errors is not nil.
func Must(errs ...error) {
	for _, err := range errs {
		if err != nil {
			panic(failure{err})
		}
	}
}

// Value returns a value, unless err ends the steps of Run.
func Value[T any](value T, err error) T {
	Must(err)
	return value
}

// Each runs steps for each number below n, at most limit at the same time. If one of them fails, Each cancels the
// context of the others, and ends the steps of Run.
func Each(ctx context.Context, n, limit int, steps func(ctx context.Context, i int)) {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(limit)
	for i := range n {
		group.Go(func() error { return Run(func() { steps(ctx, i) }) })
	}
	Must(group.Wait())
}
