# Help and version go to standard output and end well.
t --version | sed -E 's/[0-9a-f]{7,40}([ ",]+(of |date": "))[0-9]{4}-[0-9]{2}-[0-9]{2}/COMMIT\1DATE/'
t --help | head -n 4
t show -h | head -n 1
t list --help | tail -n 8
t merge --help | tail -n 8
# Into a pipe no line is wider than 80 columns, and nothing ends with a blank.
for command in '' $("$TUNE" help | sed -n '/^Commands/,/^$/s/^  \([a-z]*\) .*/\1/p'); do
    "$TUNE" $command --help | grep -nE '^.{81}| $' | sed "s/^/$command: /"
done
# An option that takes a value is shown with it.
for command in capture serve tune lookup; do "$TUNE" ${command#tune} --help | grep -oE -- '--accuracy( [A-Z]+)?  ' | sed "s/^/$command: /"; done
