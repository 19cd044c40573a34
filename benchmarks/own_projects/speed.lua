-- Work of several kinds: integers in arrays, floats, strings by patterns, tables by strings, calls.
local function queens(n)
  local count, columns, up, down = 0, {}, {}, {}
  local function place(row)
    if row > n then count = count + 1 return end
    for c = 1, n do
      if not (columns[c] or up[row + c] or down[row - c]) then
        columns[c], up[row + c], down[row - c] = true, true, true
        place(row + 1)
        columns[c], up[row + c], down[row - c] = nil, nil, nil
      end
    end
  end
  place(1)
  return count
end
local function energy(steps)
  local x, y, vx, vy = 1.0, 0.0, 0.0, 1.0
  for _ = 1, steps do
    local r = (x * x + y * y) ^ -1.5
    vx, vy = vx - x * r * 1e-3, vy - y * r * 1e-3
    x, y = x + vx * 1e-3, y + vy * 1e-3
  end
  return string.format("%.6f", 0.5 * (vx * vx + vy * vy) - (x * x + y * y) ^ -0.5)
end
local words = {}
for i = 1, 300000 do words[("word%d,%d"):format(i % 9973, i % 13):gsub("(%w+),(%d)", "%2-%1")] = i end
local keys = {}
for word in pairs(words) do keys[#keys + 1] = word end
table.sort(keys)
print(queens(9), energy(6000000), #keys, table.concat(keys, " "):len())
