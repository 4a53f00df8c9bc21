package sqlprobe

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/fairlead-go/fairlead/preflight"
	pg "github.com/pganalyze/pg_query_go/v6"
	pgquery "github.com/wasilibs/go-pgquery"
	"google.golang.org/protobuf/reflect/protoreflect"
)

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
