package infer_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/infer"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// everyServer returns the tools of every shared set, by server.
func everyServer(tb testing.TB) map[string][]*mcp.Tool {
	tb.Helper()
	servers, _ := popular(tb)
	for _, set := range [][]string{nil, {"wild"}} {
		for _, l := range catalogs(tb, set...) {
			servers[strings.Join(set, "")+" "+l.Server] = append(servers[strings.Join(set, "")+" "+l.Server], &l.Tool)
		}
	}
	return servers
}

// described returns a change of the descriptions.
func described(change func(string) string) func(mcp.Tool) mcp.Tool {
	return func(t mcp.Tool) mcp.Tool {
		// A text that does not begin with a letter would have to be changed elsewhere.
		if d := strings.TrimSpace(t.Description); d != "" && d[0] < utf8.RuneSelf && unicode.IsLetter(rune(d[0])) {
			t.Description = change(d)
		}
		return t
	}
}

// uncapitalized returns a text with a small first letter, unless the first word is one of capitals.
func uncapitalized(s string) string {
	first, n := utf8.DecodeRuneInString(s)
	if next, _ := utf8.DecodeRuneInString(s[n:]); unicode.IsUpper(next) {
		return s
	}
	return string(unicode.ToLower(first)) + s[n:]
}

// glossed puts a word of another language in brackets behind the first sentence.
func glossed(s string) string {
	if end := strings.Index(s, ". "); end > 0 {
		return s[:end] + " (倉庫)" + s[end:]
	}
	return strings.TrimSuffix(s, ".") + " (倉庫)."
}

// respelled spells a schema in other words: nullable members, and choices as constants.
func respelled(schema any) any {
	switch s := schema.(type) {
	case map[string]any:
		out := make(map[string]any, len(s))
		for k, v := range s {
			out[k] = respelled(v)
		}
		if values, ok := s["enum"].([]any); ok && len(values) > 0 {
			delete(out, "enum")
			var constants []any
			for _, v := range values {
				constants = append(constants, map[string]any{"const": v})
			}
			out["oneOf"] = constants
		}
		if properties, ok := out["properties"].(map[string]any); ok {
			for name, p := range properties {
				properties[name] = map[string]any{"anyOf": []any{p, map[string]any{"type": "null"}}}
			}
		}
		return out
	case []any:
		out := make([]any, len(s))
		for i := range s {
			out[i] = respelled(s[i])
		}
		return out
	}
	return schema
}

// A change states nothing about what a tool does.
type change struct {
	name string
	make func(mcp.Tool) mcp.Tool
	keep bool // it does not raise either
}

var changes = []change{
	{"a claim", described(func(s string) string { return strings.TrimRight(s, ". ") + ". Requires more than a read-only key." }), false},
	{"a claim before", described(func(s string) string { return "Read-only users may see this. " + s }), false},
	{"a tag", described(func(s string) string { return "[Requires Login] " + s }), false},
	{"a label", described(func(s string) string { return "Pro plan. " + s }), false},
	{"an adverb", described(func(s string) string { return "Quickly " + uncapitalized(s) }), false},
	{"a polite frame", described(func(s string) string { return "Use this tool to " + uncapitalized(s) }), false},
	{"a gloss", described(glossed), true},
	{"another spelling of the schema", func(t mcp.Tool) mcp.Tool {
		raw, _ := json.Marshal(t.InputSchema)
		var decoded any
		_ = json.Unmarshal(raw, &decoded)
		t.InputSchema = respelled(decoded)
		return t
	}, true},
	{"a prefix of the server", func(t mcp.Tool) mcp.Tool { t.Name = "acme_" + t.Name; return t }, true},
}

// TestChangesThatSayNothing makes each change to every tool of every shared server: no class is lowered, and by a gloss,
// a spelling or a prefix none is raised.
func TestChangesThatSayNothing(t *testing.T) {
	t.Parallel()
	servers := everyServer(t)
	for _, c := range changes {
		lowered, raised, of := 0, 0, 0
		for server, tools := range servers {
			changed := make([]*mcp.Tool, len(tools))
			for i := range tools {
				other := c.make(*tools[i])
				changed[i] = &other
			}
			before, after := infer.Tools(tools), infer.Tools(changed)
			for i := range tools {
				if strings.Contains(before[i].Evidence[0].Rule, "another language") && !c.keep {
					continue // English words before it do not make a sentence
				}
				of++
				was, is := rank(before[i]), rank(after[i])
				switch {
				case is < was:
					lowered++
					t.Errorf("%s: %s %s is %v, and was %v (%q, now %q)", c.name, server, tools[i].Name, after[i].Safety(), before[i].Safety(), before[i].Evidence[0].Rule, after[i].Evidence[0].Rule)
				case is > was:
					raised++
					if c.keep {
						t.Errorf("%s: %s %s is %v, and was %v (%q, now %q)", c.name, server, tools[i].Name, after[i].Safety(), before[i].Safety(), before[i].Evidence[0].Rule, after[i].Evidence[0].Rule)
					}
				}
			}
		}
		t.Logf("%s: lowers %d and raises %d of %d", c.name, lowered, raised, of)
	}
}

// rank orders classes: what asks is above what does not, whether it is dangerous or not understood.
func rank(a annotation.Annotations) int {
	switch a.Safety() {
	case annotation.Safe:
		return 0
	case annotation.Moderate:
		return 1
	}
	return 2
}

// translations are sentences of dictionaries, in English and then in other languages. A Portuguese sentence is recognized
// by a small word that English does not have: "uma", and not "a" or "as".
var translations = [][]string{
	{"Gets the list of entries.", "Ruft die Liste der Einträge ab.", "Récupère la liste des entrées.", "Obtiene la lista de entradas.", "Obtém a lista de entradas.",
		"Recupera l'elenco delle voci.", "Haalt de lijst van items op.", "Получает список записей.", "获取条目列表。", "エントリの一覧を取得します。", "항목 목록을 가져옵니다."},
	{"Searches the entries.", "Durchsucht die Einträge.", "Recherche les entrées.", "Busca las entradas.", "Pesquisa uma entrada.",
		"Cerca le voci.", "Doorzoekt de items.", "Ищет записи.", "搜索条目。", "エントリを検索します。", "항목을 검색합니다."},
	{"Creates an entry.", "Erstellt einen Eintrag.", "Crée une entrée.", "Crea una entrada.", "Cria uma entrada.",
		"Crea una voce.", "Maakt een item aan.", "Создаёт запись.", "创建条目。", "エントリを作成します。", "항목을 생성합니다."},
	{"Updates an entry.", "Aktualisiert einen Eintrag.", "Met à jour une entrée.", "Actualiza una entrada.", "Atualiza uma entrada.",
		"Aggiorna una voce.", "Werkt een item bij.", "Обновляет запись.", "更新条目。", "エントリを更新します。", "항목을 업데이트합니다."},
	{"Deletes an entry.", "Löscht einen Eintrag.", "Supprime une entrée.", "Elimina una entrada.", "Exclui uma entrada.",
		"Elimina una voce.", "Verwijdert een item.", "Удаляет запись.", "删除条目。", "エントリを削除します。", "항목을 삭제합니다."},
	{"Sends a message.", "Sendet eine Nachricht.", "Envoie un message.", "Envía un mensaje.", "Envia uma mensagem.",
		"Invia un messaggio.", "Verstuurt een bericht.", "Отправляет сообщение.", "发送消息。", "メッセージを送信します。", "메시지를 보냅니다."},
	{"Publishes the page.", "Veröffentlicht die Seite.", "Publie la page.", "Publica la página.", "Publica uma página.",
		"Pubblica la pagina.", "Publiceert de pagina.", "Публикует страницу.", "发布页面。", "ページを公開します。", "페이지를 게시합니다."},
}

// beginning returns a change that puts a sentence in place of the first one.
func beginning(sentence string) func(mcp.Tool) mcp.Tool {
	return func(t mcp.Tool) mcp.Tool {
		_, rest, _ := strings.Cut(t.Description, ". ")
		t.Description = strings.TrimSpace(sentence + " " + rest)
		return t
	}
}

// TestTranslatingLowersNothing puts a sentence and its translations in place of the first sentence of every tool of
// every shared server: no class by a translation is below that by the English one.
func TestTranslatingLowersNothing(t *testing.T) {
	t.Parallel()
	servers := everyServer(t)
	made := func(tools []*mcp.Tool, sentence string) []annotation.Annotations {
		changed := make([]*mcp.Tool, len(tools))
		for i := range tools {
			other := beginning(sentence)(*tools[i])
			changed[i] = &other
		}
		return infer.Tools(changed)
	}
	for _, sentences := range translations {
		lowered, raised, of := 0, 0, 0
		for server, tools := range servers {
			english := made(tools, sentences[0])
			for _, sentence := range sentences[1:] {
				for i, a := range made(tools, sentence) {
					of++
					switch was, is := rank(english[i]), rank(a); {
					case is < was:
						if lowered++; lowered <= 20 {
							t.Errorf("%s/%s begins with %q: it is %v (%q), and by the English sentence %v (%q)",
								server, tools[i].Name, sentence, a.Safety(), a.Evidence[0].Rule, english[i].Safety(), english[i].Evidence[0].Rule)
						}
					case is > was:
						raised++
					}
				}
			}
		}
		t.Logf("%q: lowers %d and raises %d of %d", sentences[0], lowered, raised, of)
	}
}
