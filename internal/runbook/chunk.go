package runbook

import (
	"slices"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// chunkSize is how many entries of the nodes section are given to the YAML library at once. Its time and stack grow
// with the square and the number of the entries of one mapping; in chunks, 10,000 nodes take half the time.
const chunkSize = 200

// parseYAML runs the library over text, a large nodes section in chunks. If that does not go smoothly the text is parsed
// as a whole, so that what is reported is the same either way.
func parseYAML(text string, tokens token.Tokens, size int) (*ast.File, error) {
	plain := withoutComments(tokens)
	starts, end := entries(plain)
	if len(starts) <= size {
		return parse(tokens)
	}
	if file := parseChunks(plain, starts, end, size); file != nil {
		return file, nil
	}
	return parse(lexer.Tokenize(text)) // tokens are changed by parsing
}

func withoutComments(tokens token.Tokens) token.Tokens {
	return slices.DeleteFunc(slices.Clone(tokens), func(t *token.Token) bool { return t.Type == token.CommentType })
}

func parse(tokens token.Tokens) (*ast.File, error) {
	return parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
}

// parseChunks parses tokens without comments in chunks of the entries that begin at starts; nil if something is unusual.
func parseChunks(tokens token.Tokens, starts []int, end, size int) *ast.File {
	file, err := parse(slices.Concat(tokens[:starts[size]], tokens[end:]))
	if err != nil || len(file.Docs) != 1 {
		return nil
	}
	nodes := section(file.Docs[0].Body)
	if nodes == nil {
		return nil
	}
	for at := size; at < len(starts); at += size {
		to := end
		if at+size < len(starts) {
			to = starts[at+size]
		}
		chunk, err := parse(slices.Clone(tokens[starts[at]:to]))
		if err != nil || len(chunk.Docs) != 1 {
			return nil
		}
		more, ok := chunk.Docs[0].Body.(*ast.MappingNode)
		if !ok {
			return nil
		}
		nodes.Values = append(nodes.Values, more.Values...)
	}
	return file
}

// section finds the mapping of the nodes section.
func section(body ast.Node) *ast.MappingNode {
	top, ok := body.(*ast.MappingNode)
	if !ok {
		return nil
	}
	for _, v := range top.Values {
		if v.Key.GetToken().Value == nodesKey {
			nodes, _ := v.Value.(*ast.MappingNode)
			return nodes
		}
	}
	return nil
}

const nodesKey = "nodes"

// entries finds the tokens that begin the entries of a nodes section in block style, and where the section ends.
func entries(tokens token.Tokens) (starts []int, end int) {
	first := firstEntry(tokens)
	if first < 0 {
		return nil, 0
	}
	column, depth := tokens[first].Position.Column, 0
	line := tokens[first-2].Position.Line // that of the key
	for i := first; i < len(tokens); i++ {
		t := tokens[i]
		leads := t.Position.Line > line // its line
		line = t.Position.Line
		switch {
		case depth == 0 && leads && 0 < t.Position.Column && t.Position.Column < column: // a block of text is at 0
			return starts, i
		case depth == 0 && leads && t.Position.Column == column && i+1 < len(tokens) && tokens[i+1].Type == token.MappingValueType:
			starts = append(starts, i)
		case t.Type == token.MappingStartType || t.Type == token.SequenceStartType:
			depth++
		case t.Type == token.MappingEndType || t.Type == token.SequenceEndType:
			depth--
		}
	}
	return starts, len(tokens)
}

// firstEntry finds the token that begins the first entry of the nodes section, two behind its key; -1 if there is none.
func firstEntry(tokens token.Tokens) int {
	at := slices.IndexFunc(tokens, func(t *token.Token) bool {
		return t.Type == token.StringType && t.Value == nodesKey && t.Position.Column == 1
	})
	if at < 0 || at+2 >= len(tokens) || tokens[at+1].Type != token.MappingValueType || tokens[at+2].Position.Column == 1 {
		return -1
	}
	return at + 2
}
