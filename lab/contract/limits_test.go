package contract

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// A type has at most 30 methods, a file at most 300 lines and a function at most 50 lines. Tests are exempt.
func TestCodeIsSmall(t *testing.T) {
	for _, x := range excesses(t) {
		t.Errorf("%s is too large", x)
	}
}

func excesses(t *testing.T) (found []string) {
	t.Helper()
	methods := map[string]int{}
	for _, root := range []string{"cmd", "exporter", "lab"} {
		err := filepath.WalkDir(filepath.Join(Root, root), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			name := filepath.ToSlash(strings.TrimPrefix(path, filepath.FromSlash(Root+"/")))
			if set.File(file.Pos()).LineCount() > 300 {
				found = append(found, "file "+name)
			}
			for _, d := range file.Decls {
				f, ok := d.(*ast.FuncDecl)
				if !ok {
					continue
				}
				if set.Position(f.End()).Line-set.Position(f.Pos()).Line >= 50 {
					found = append(found, fmt.Sprintf("function %s in %s", f.Name, name))
				}
				if f.Recv != nil {
					methods[fmt.Sprintf("type %s in %s", receiverName(f.Recv.List[0].Type), filepath.ToSlash(filepath.Dir(name)))]++
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, n := range methods {
		if n > 30 {
			found = append(found, name)
		}
	}
	return found
}

// receiverName returns the name of a receiver's type, without a pointer and type parameters.
func receiverName(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.StarExpr:
		return receiverName(x.X)
	case *ast.IndexExpr:
		return receiverName(x.X)
	case *ast.IndexListExpr:
		return receiverName(x.X)
	}
	return x.(*ast.Ident).Name
}
