package redact_test

import (
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/audit/redact"
	"github.com/fairlead-go/fairlead/middleware"
)

// What is typed into a field is a secret if what is beside it shows that the field is one for a password.
func TestPasswordFieldIsKnownByItsNeighbours(t *testing.T) {
	t.Parallel()
	for name, arguments := range map[string]string{
		"element":           `{"element":"Password textbox","ref":"e12","text":"quartz88"}`,
		"label":             `{"label":"Your password","text":"quartz88"}`,
		"selector":          `{"selector":"input[name=\"password\"]","value":"quartz88"}`,
		"identifier":        `{"selector":"#passwd","value":"quartz88"}`,
		"placeholder":       `{"placeholder":"Enter your passphrase","keys":"quartz88"}`,
		"xpath":             `{"xpath":"//input[@type='password']","input":"quartz88"}`,
		"locator":           `{"locator":{"role":"textbox","label":"Password"},"text":"quartz88"}`,
		"by":                `{"by":"id","value":"password","text":"quartz88"}`,
		"fields of a form":  `{"fields":[{"name":"User","value":"ann"},{"label":"Password","type":"textbox","value":"quartz88"}]}`,
		"another case":      `{"Label":"PASSWORD","Text":"quartz88"}`,
		"in German":         `{"label":"Passwort","value":"quartz88"}`,
		"a list of keys":    `{"element":"Password","keys":["quartz88","Enter"]}`,
		"number":            `{"label":"Security code","value":"quartz88"}`,
		"patch":             `[{"op":"replace","path":"/spec/db/password","value":"quartz88"}]`,
		"patch in a member": `{"patch":[{"op":"test","path":"/a","value":1},{"op":"add","path":"/users/0/api_key","value":"quartz88"}]}`,
		"patch of a list":   `{"op":"add","path":"/passwords/-","value":"quartz88"}`,
		"patch of a part":   `{"op":"add","path":"/secrets/0/v","value":"quartz88"}`,
		"patch, escaped":    `{"op":"add","path":"/a~1b/client~1secret","value":"quartz88"}`,
		"patch in a text":   `{"patch":"[{\"op\":\"add\",\"path\":\"/password\",\"value\":\"quartz88\"}]"}`,
		"path in a list":    `{"path":["db","password"],"op":"set","value":"quartz88"}`,
		"fill":              `{"code":"await page.fill('#password', 'quartz88');"}`,
		"fill of a locator": `{"code":"await page.getByLabel('Password').fill('quartz88')"}`,
		"fill of a first":   `{"code":"await page.locator('input[type=\"password\"]').first().fill(\"quartz88\")"}`,
		"value of a query":  `{"function":"() => { document.querySelector('#password').value = 'quartz88' }"}`,
		"value of an id":    `{"script":"document.getElementById(\"user_password\").value=\"quartz88\""}`,
		"attribute":         `{"script":"document.getElementById('passwd').setAttribute('value', 'quartz88')"}`,
		"jQuery":            `{"script":"$('#password').val('quartz88')"}`,
		"Selenium":          `{"code":"driver.find_element(By.ID, 'password').send_keys('quartz88')"}`,
	} {
		var r redact.Redactor
		if got := string(r.Arguments(middleware.Call{Arguments: []byte(arguments)})); strings.Contains(got, "quartz88") || !strings.Contains(got, redact.Mark) {
			t.Errorf("%s: got %s", name, got)
		}
	}
}

// Other fields, and files whose names have such a word, stay.
func TestOtherFieldsStay(t *testing.T) {
	t.Parallel()
	for _, arguments := range []string{
		`{"element":"Search box","ref":"e12","text":"quartz88"}`,
		`{"path":"docs/password-rules.md","content":"quartz88"}`,
		`{"op":"replace","path":"/spec/replicas","value":"quartz88"}`,
		`{"selector":"#name","value":"quartz88"}`,
		`{"by":"id","value":"name","text":"quartz88"}`,
		`{"code":"await page.fill('#name', 'quartz88');"}`,
		`{"code":"await page.getByLabel('Password').click(); await page.goto('quartz88')"}`,
		`{"script":"document.querySelector('#name').value = 'quartz88'"}`,
	} {
		var r redact.Redactor
		if got := string(r.Arguments(middleware.Call{Arguments: []byte(arguments)})); !strings.Contains(got, "quartz88") {
			t.Errorf("got %s\nof  %s", got, arguments)
		}
	}
}

// A secret that is a part of another leaves nothing of it, whichever is found first.
func TestSecretWithinAnother(t *testing.T) {
	t.Parallel()
	const token = "sk-proj-hunter2hunter2abcdefghij"
	for name, arguments := range map[string]string{
		"before a token":          `{"password":"sk-proj-hunter2","note":"use ` + token + ` here"}`,
		"inside a token":          `{"password":"hunter2hunter2","note":"use ` + token + ` here"}`,
		"at the end of a token":   `{"password":"abcdefghij","note":"use ` + token + ` here"}`,
		"the end overlaps":        `{"password":"use sk-proj-hunter2","note":"use ` + token + ` here"}`,
		"behind a name":           `{"password":"hunter2hunter2","note":"it has token=hunter2hunter2abcdefghij!"}`,
		"two that overlap":        `{"password":"hunter2hunter2","token":"hunter2abcdefghij","note":"it is hunter2hunter2abcdefghij"}`,
		"in a text of JSON":       `{"password":"hunter2hunter2","note":"{\"a\":\"use ` + token + `\"}"}`,
		"in an address":           `{"password":"hunter2hunter2","note":"https://ann:hunter2hunter2abcdefghij@example.com/"}`,
		"the text is found first": `{"a":"use ` + token + ` here","password":"hunter2hunter2"}`,
	} {
		var r redact.Redactor
		got := string(r.Arguments(middleware.Call{Arguments: []byte(arguments)}))
		for _, part := range []string{"hunter2", "abcdefghij", "sk-proj"} {
			if strings.Contains(got, part) {
				t.Errorf("%s: %q is left: %s", name, part, got)
			}
		}
	}
}

// The same holds for a text that comes after the arguments, such as an error.
func TestSecretWithinAnotherInALaterText(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"use sk-proj-hunter2hunter2abcdefghij here", "token=hunter2hunter2abcdefghij!", "https://ann:hunter2hunter2abcdefghij@example.com/",
		"Authorization: Bearer hunter2hunter2abcdefghij",
	} {
		var r redact.Redactor
		r.Arguments(middleware.Call{Arguments: []byte(`{"password":"hunter2hunter2"}`)})
		if got := r.Text(text); strings.Contains(got, "abcdefghij") || strings.Contains(got, "hunter2") {
			t.Errorf("got %s", got)
		}
	}
}
