// A small line over time, without an axis.

// Spark draws values from 0 up to the greatest. A gap breaks the line if it is wider than three of four gaps. The ends of a line are of times of
// other lengths than its steps, in which one profile more or less would look like a jump: a long one is drawn without them.
export function Spark({ line }: { line: (number | null)[] }) {
  const all = [...line.keys()].filter((i) => line[i] != null), at = all.length < 8 ? all : all.slice(1, -1), most = Math.max(...at.map((i) => line[i]!), 0) || 1;
  const apart = at.slice(1).map((i, k) => i - at[k]!), usual = apart.toSorted((a, b) => a - b)[Math.floor(0.75 * (apart.length - 1))] ?? 1;
  const x = (i: number) => +((100 * (i + 0.5)) / line.length).toFixed(2), y = (i: number) => +(19 - 18 * (Math.max(0, line[i]!) / most)).toFixed(2);
  let path = "", area = "", from = -1;
  at.forEach((i, k) => {
    const isFirst = k === 0 || apart[k - 1]! > usual, isLast = k === at.length - 1 || apart[k]! > usual;
    path += `${isFirst ? "M" : "L"}${x(i)} ${y(i)}`;
    if (isFirst) area += `M${x((from = i))} 20`;
    area += `L${x(i)} ${y(i)}`;
    if (isLast) { area += `L${x(i)} 20Z`; if (from === i) path += "h.01"; }
  });
  return <svg class="spark" viewBox="0 0 100 20" preserveAspectRatio="none" aria-hidden="true"><path class="area" d={area} /><path d={path} /></svg>;
}
