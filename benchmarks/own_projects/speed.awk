# Words of a text: how often each occurs, the longest, and fields by number.
{ for (i = 1; i <= NF; i++) { count[tolower($i)]++; letters += length($i) } gsub(/[0-9]+/, "#"); lines[$1 " " $NF]++ }
END { for (word in count) if (count[word] > most) { most = count[word]; frequent = word } print NR, letters, frequent, most, length(lines) }
