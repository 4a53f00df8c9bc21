// Package sqlprobe reads SQL with the grammar of the database that will run it and reports whether a
// call reads, adds or does anything else. Its probes are values of [preflight.Probe]: PostgreSQL uses
// PostgreSQL's own parser, compiled to WebAssembly, and MySQL that of TiDB.
//
// A statement is a read if every part of its tree and every function is in a list of reads. So a new
// feature of a database is asked about.
//
// The probes see the text, not the database: they cannot see the effects of a view, a trigger, a rule, an
// operator, a cast or a user-defined function with a listed name. If that matters, give the server a role
// that cannot write.
package sqlprobe

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/preflight"
	pg "github.com/pganalyze/pg_query_go/v6"
	"github.com/pingcap/tidb/pkg/parser"
	"github.com/pingcap/tidb/pkg/parser/ast"
	_ "github.com/pingcap/tidb/pkg/parser/test_driver" // the plain values of the tree
	pgquery "github.com/wasilibs/go-pgquery"
	"google.golang.org/protobuf/reflect/protoreflect"
)

const (
	// maxText is the maximum size of a statement, in bytes.
	maxText = 16 << 10
	// maxParts bounds the words and signs of a statement, since parsers and walks are recursive.
	maxParts = 1000
)

var reads, adds, destroys = verdict(annotation.ReadOnly), verdict(annotation.Write), verdict(annotation.Destructive)

func verdict(of func() annotation.Annotations) func(why string) preflight.Verdict {
	return func(why string) preflight.Verdict { return preflight.Verdict{Annotations: of(), Why: why} }
}

// only returns the one statement of a text, or why there is not one that can be judged.
func only[T any](text, dialect string, parse func(text string) ([]T, error)) (stmt T, why string) {
	if why := unfit(text); why != "" {
		return stmt, why
	}
	stmts, err := parse(text)
	switch {
	case err != nil:
		return stmt, fmt.Sprintf("%s does not parse it: %.60q", dialect, err.Error())
	case len(stmts) == 0:
		return stmt, "no statement"
	case len(stmts) > 1:
		return stmt, "a second statement"
	}
	return stmts[0], ""
}

// unfit returns why a text cannot be parsed in any dialect, "" if it can.
func unfit(text string) string {
	if len(text) > maxText {
		return fmt.Sprintf("%d bytes are more than is read", len(text))
	}
	parts, word := 0, false
	for i, r := range text {
		switch {
		case r == utf8.RuneError:
			return fmt.Sprintf("byte %d is not UTF-8", i)
		case r != '\n' && r != '\t' && !unicode.IsPrint(r): // and a lone CR, which ends a comment for some
			return fmt.Sprintf("the character %U", r)
		}
		letter := unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_'
		if r > ' ' && (!letter || !word) {
			parts++
		}
		word = letter
	}
	if parts > maxParts {
		return fmt.Sprintf("%d words and signs are more than is read", parts)
	}
	// Whether a backslash escapes a quote is a setting of the server.
	if strings.Contains(text, `\'`) || strings.Contains(text, `\"`) {
		return "a backslash before a quote"
	}
	return ""
}

func lines(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

func words(text string) map[string]bool {
	set := make(map[string]bool)
	for word := range strings.FieldsSeq(text) {
		set[word] = true
	}
	return set
}

// MySQL is a probe for servers with MySQL's dialect: MySQL, MariaDB, TiDB. One SELECT, VALUES, TABLE
// or SHOW is a read, and so is the EXPLAIN of one; one INSERT adds, with IGNORE too. All else is
// destructive: UPDATE, REPLACE and ON DUPLICATE KEY UPDATE, INTO OUTFILE, FOR UPDATE, @a := 1, other
// functions, a second statement, and every comment between slashes, which some servers run.
func MySQL(text string) preflight.Verdict {
	text = lines(text)
	if why := myComments(text); why != "" {
		return destroys(why)
	}
	stmt, why := only(text, "MySQL", myParse)
	if why != "" {
		return destroys(why)
	}
	var walk myWalk
	verdict, name := reads, "SELECT"
	switch s := stmt.(type) {
	case *ast.InsertStmt:
		if s.IsReplace || len(s.OnDuplicate) > 0 {
			return destroys("an INSERT that overwrites")
		}
		walk.further, verdict, name = myAdds, adds, "INSERT"
	case *ast.ShowStmt:
		name = "SHOW"
	case *ast.ExplainStmt:
		name = "EXPLAIN"
	}
	stmt.Accept(&walk)
	if walk.why != "" {
		return destroys(walk.why)
	}
	return verdict("one " + name)
}

// myComments matches comments that not every server ignores: MySQL runs /*! */, MariaDB /*M! */,
// TiDB /*T! */, and two dashes begin one only before a blank.
func myComments(text string) string {
	if strings.Contains(text, "/*") {
		return "a comment that a server may run"
	}
	for rest := text; ; {
		_, after, found := strings.Cut(rest, "--")
		if !found {
			return ""
		}
		if after != "" && after[0] != ' ' && after[0] != '\n' && after[0] != '\t' {
			return "two dashes without a blank"
		}
		rest = after
	}
}

func myParse(text string) (stmts []ast.StmtNode, err error) {
	defer func() {
		if r := recover(); r != nil {
			stmts, err = nil, fmt.Errorf("the parser broke down: %v", r)
		}
	}()
	stmts, _, err = parser.New().Parse(text, "", "")
	return stmts, err
}

// myWalk visits a tree and records the first part that is neither a read nor in further.
type myWalk struct {
	further map[string]bool
	why     string
}

func (w *myWalk) Enter(n ast.Node) (ast.Node, bool) {
	name := strings.TrimPrefix(strings.TrimPrefix(fmt.Sprintf("%T", n), "*ast."), "*test_driver.")
	switch {
	case w.why != "":
	case !myReads[name] && !w.further[name]:
		w.why = "a part that is not a plain read: " + name
	default:
		w.why = myPart(n)
	}
	return n, w.why != ""
}

func (w *myWalk) Leave(n ast.Node) (ast.Node, bool) { return n, w.why == "" }

// myPart returns what makes one part more than a read, in fields that the walk does not visit.
func myPart(n ast.Node) string {
	switch n := n.(type) {
	case *ast.SelectStmt:
		if n.SelectIntoOpt != nil {
			return "SELECT INTO"
		}
		if n.LockInfo != nil && n.LockInfo.LockType != ast.SelectLockNone {
			return "a SELECT that locks"
		}
	case *ast.ExplainStmt:
		if n.Stmt == nil || n.Explore {
			return "an EXPLORE, or an EXPLAIN of a statement that is not here but at the server" // with ANALYZE it runs
		}
	case *ast.ColumnName:
		if n.Name.L == "nextval" && n.Table.L != "" {
			return "nextval, which counts up"
		}
	case *ast.VariableExpr:
		if n.Value != nil {
			return "an assignment to @" + n.Name
		}
	case *ast.FuncCallExpr:
		if n.Schema.L != "" || !myFunctions[n.FnName.L] {
			return fmt.Sprintf("the function %.60q", n.FnName.O)
		}
	}
	return ""
}

// myReads are the parts of the tree that read.
var myReads = words(`
SelectStmt SetOprStmt SetOprSelectList ExplainStmt ShowStmt
FieldList SelectField WildCardField TableRefsClause TableSource TableName ColumnName ColumnNameExpr Join OnCondition
WithClause CommonTableExpression GroupByClause HavingClause OrderByClause ByItem Limit
WindowSpec PartitionByClause FrameClause FrameBound IndexHint
ValueExpr ParamMarkerExpr BinaryOperationExpr UnaryOperationExpr ParenthesesExpr BetweenExpr CaseExpr WhenClause
IsNullExpr IsTruthExpr PatternInExpr PatternLikeOrIlikeExpr PatternRegexpExpr RowExpr DefaultExpr PositionExpr
SubqueryExpr ExistsSubqueryExpr CompareSubqueryExpr MatchAgainst TimeUnitExpr TrimDirectionExpr GetFormatSelectorExpr
SetCollationExpr VariableExpr FuncCallExpr FuncCastExpr AggregateFuncExpr WindowFuncExpr`)

// myAdds are the further parts of an INSERT.
var myAdds = words(`InsertStmt Assignment`)

// myFunctions read their arguments, the clock or what the server reports of itself. Others read files,
// wait, lock, burn time or count up: load_file, sleep, get_lock, benchmark, nextval.
var myFunctions = words(`
abs acos asin atan atan2 ceil ceiling conv cos cot crc32 degrees exp floor ln log log10 log2 mod pi pow power radians
rand round sign sin sqrt tan truncate
ascii bin bit_length char_func char_length character_length concat concat_ws elt field find_in_set format from_base64
hex insert_func instr lcase left length locate lower lpad ltrim md5 mid oct octet_length ord position quote
regexp_instr regexp_like regexp_replace regexp_substr repeat replace reverse right rpad rtrim sha sha1 sha2 space
strcmp substr substring substring_index to_base64 trim ucase unhex upper
adddate addtime convert_tz curdate current_date current_time current_timestamp curtime date date_add date_format
date_sub datediff day dayname dayofmonth dayofweek dayofyear extract from_days from_unixtime get_format hour last_day
localtime localtimestamp makedate maketime microsecond minute month monthname now period_add period_diff quarter
sec_to_time second str_to_date subdate subtime sysdate time time_format time_to_sec timediff timestamp timestampadd
timestampdiff to_days to_seconds unix_timestamp utc_date utc_time utc_timestamp week weekday weekofyear year yearweek
coalesce greatest if ifnull interval isnull least nullif cast convert
json_array json_array_append json_array_insert json_contains json_contains_path json_depth json_extract json_insert
json_keys json_length json_merge_patch json_merge_preserve json_object json_overlaps json_pretty json_quote
json_remove json_replace json_search json_set json_type json_unquote json_valid json_value
charset collation connection_id current_role current_user database found_rows row_count schema session_user
system_user user version
inet_aton inet_ntoa inet6_aton inet6_ntoa is_ipv4 is_ipv6 uuid uuid_to_bin bin_to_uuid any_value bit_count format_bytes
grouping st_distance st_contains st_within st_astext st_x st_y`)

// PostgreSQL is a probe for servers that speak PostgreSQL. One SELECT, VALUES, TABLE or SHOW is a read,
// and so is the EXPLAIN of one; one INSERT adds, with ON CONFLICT DO NOTHING too. All else is
// destructive: UPDATE and ON CONFLICT DO UPDATE, SELECT INTO and FOR UPDATE, a WITH that writes, other
// functions, and a second statement. It cannot see a function that is called as a column, t.f.
//
// The first call takes about a second, to compile the parser.
func PostgreSQL(text string) preflight.Verdict {
	text = lines(text)
	raw, why := only(text, "PostgreSQL", pgParse)
	if why != "" {
		return destroys(why)
	}
	stmt := raw.GetStmt()
	verdict, further := reads, map[string]bool(nil)
	if stmt.GetInsertStmt() != nil {
		verdict, further = adds, pgAdds
	}
	if why := pgWalk(stmt.ProtoReflect(), further); why != "" {
		return destroys(why)
	}
	return verdict("one " + pgName(stmt))
}

// pgParser guards the parser. After a crash its memory may be corrupt, so it is not used any more.
var pgParser struct {
	sync.Mutex
	broken bool
}

func pgParse(text string) (stmts []*pg.RawStmt, err error) {
	pgParser.Lock()
	defer pgParser.Unlock()
	if pgParser.broken {
		return nil, errors.New("the parser broke down earlier; restart the process")
	}
	defer func() {
		if r := recover(); r != nil {
			pgParser.broken = true
			stmts, err = nil, fmt.Errorf("the parser broke down: %v", r)
		}
	}()
	tree, err := pgquery.Parse(text)
	return tree.GetStmts(), err
}

// pgName returns the kind of a statement as in SelectStmt, without Stmt.
func pgName(stmt *pg.Node) string {
	name := ""
	stmt.ProtoReflect().Range(func(f protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
		name = strings.TrimSuffix(string(f.Message().Name()), "Stmt")
		return false
	})
	return strings.ToUpper(name)
}

// pgWalk returns the first part of a tree that is neither a read nor in further.
func pgWalk(m protoreflect.Message, further map[string]bool) (why string) {
	name := string(m.Descriptor().Name())
	if !pgReads[name] && !further[name] {
		return "a part that is not a plain read: " + name
	}
	switch node := m.Interface().(type) {
	case *pg.FuncCall:
		if why := pgFunction(node); why != "" {
			return why
		}
	case *pg.OnConflictClause:
		if node.GetAction() != pg.OnConflictAction_ONCONFLICT_NOTHING {
			return "ON CONFLICT DO UPDATE, which overwrites"
		}
	}
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.Message() == nil:
		case f.IsList():
			for i := 0; i < v.List().Len() && why == ""; i++ {
				why = pgWalk(v.List().Get(i).Message(), further)
			}
		default:
			why = pgWalk(v.Message(), further)
		}
		return why == ""
	})
	return why
}

func pgFunction(call *pg.FuncCall) string {
	var path []string
	for _, part := range call.GetFuncname() {
		path = append(path, part.GetString_().GetSval())
	}
	if len(path) == 2 && path[0] == "pg_catalog" {
		path = path[1:]
	}
	if len(path) != 1 || !pgFunctions[path[0]] {
		return fmt.Sprintf("the function %.60q", strings.Join(path, "."))
	}
	return ""
}

// pgReads are the parts of PostgreSQL's tree that read; LockingClause and IntoClause are not.
var pgReads = words(`
Node SelectStmt ExplainStmt DefElem VariableShowStmt List
ResTarget ColumnRef A_Star A_Const Integer Float Boolean String BitString ParamRef
A_Expr BoolExpr NullTest BooleanTest CaseExpr CaseWhen CoalesceExpr MinMaxExpr SubLink
A_ArrayExpr A_Indirection A_Indices RowExpr TypeCast TypeName CollateClause SQLValueFunction
FuncCall NamedArgExpr WindowDef GroupingSet GroupingFunc SortBy
RangeVar RangeSubselect RangeFunction JoinExpr Alias WithClause CommonTableExpr CTESearchClause CTECycleClause`)

// pgAdds are the further parts of an INSERT.
var pgAdds = words(`InsertStmt SetToDefault OnConflictClause InferClause IndexElem`)

// pgFunctions read their arguments, the clock or the catalog. Others run SQL, read files, reach other
// servers, wait, signal or count up: query_to_xml, pg_read_file, dblink, pg_sleep, nextval.
var pgFunctions = words(`
array_agg avg bit_and bit_or bool_and bool_or corr count covar_pop covar_samp every grouping json_agg json_object_agg
jsonb_agg jsonb_object_agg max min mode percentile_cont percentile_disc regr_slope regr_intercept regr_r2 stddev
stddev_pop stddev_samp string_agg sum var_pop var_samp variance
cume_dist dense_rank first_value lag last_value lead nth_value ntile percent_rank rank row_number
abs ceil ceiling cos degrees div exp factorial floor gcd ln log mod pi power radians random round sign sin sqrt tan trunc
width_bucket
ascii btrim char_length character_length chr concat concat_ws decode encode format initcap left length like_escape lower
lpad ltrim md5 octet_length overlay position quote_ident quote_literal quote_nullable regexp_count regexp_like
regexp_match regexp_matches regexp_replace regexp_split_to_array regexp_split_to_table repeat replace reverse right
rpad rtrim sha256 split_part starts_with string_to_array string_to_table strpos substr substring to_hex translate trim
upper
age clock_timestamp date_bin date_part date_trunc extract isfinite justify_days justify_hours justify_interval
make_date make_interval make_time make_timestamp make_timestamptz now statement_timestamp timezone to_char to_date
to_number to_timestamp transaction_timestamp
array_append array_cat array_dims array_length array_lower array_ndims array_position array_positions array_prepend
array_remove array_replace array_to_json array_to_string array_upper cardinality generate_series generate_subscripts
unnest
json_array_elements json_array_elements_text json_array_length json_build_array json_build_object json_each
json_each_text json_extract_path json_extract_path_text json_object_keys json_strip_nulls json_typeof
jsonb_array_elements jsonb_array_elements_text jsonb_array_length jsonb_build_array jsonb_build_object jsonb_each
jsonb_each_text jsonb_extract_path jsonb_extract_path_text jsonb_object_keys jsonb_path_exists jsonb_path_query
jsonb_path_query_array jsonb_path_query_first jsonb_pretty jsonb_set jsonb_strip_nulls jsonb_typeof row_to_json to_json
to_jsonb
phraseto_tsquery plainto_tsquery similarity to_tsquery to_tsvector ts_headline ts_rank ts_rank_cd websearch_to_tsquery
word_similarity
col_description current_database current_schema current_schemas current_setting format_type has_column_privilege
has_schema_privilege has_table_privilege obj_description pg_column_size pg_database_size pg_get_constraintdef
pg_get_expr pg_get_functiondef pg_get_indexdef pg_get_userbyid pg_get_viewdef pg_indexes_size pg_is_in_recovery
pg_relation_size pg_size_pretty pg_table_is_visible pg_table_size pg_total_relation_size pg_typeof to_regclass version
gen_random_uuid host network masklen family int4range int8range numrange tsrange tstzrange daterange isempty lower_inc
upper_inc`)
