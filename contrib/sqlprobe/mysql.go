package sqlprobe

import (
	"fmt"
	"strings"

	"github.com/fairlead-go/fairlead/preflight"
	"github.com/pingcap/tidb/pkg/parser"
	"github.com/pingcap/tidb/pkg/parser/ast"
)

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
