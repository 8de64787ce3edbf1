// select adds matchers to each selector of a kubeflap metric in an expression. Selectors of recorded series, such as node:kubeflap_node_verdict:own,
// need none, because the recording rules already have them.
local isWord(c) = std.member('abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_:', c);
local wordLength(s, i=0) = if i < std.length(s) && isWord(s[i]) then wordLength(s, i + 1) tailstrict else i;

local selected(before, rest, matchers) =
  local end = wordLength(rest);
  local name = rest[:end], after = rest[end:];
  if before != '' && isWord(before[std.length(before) - 1]) then rest
  else if std.startsWith(after, '{}') then name + '{' + matchers + after[1:]
  else if std.startsWith(after, '{') then name + '{' + matchers + ',' + after[1:]
  else name + '{' + matchers + '}' + after;

function(expr, matchers)
  if matchers == '' then expr else
    local parts = std.split(expr, 'kubeflap_');
    std.join('kubeflap_', [parts[0]] + [selected(parts[i - 1], parts[i], matchers) for i in std.range(1, std.length(parts) - 1)])
