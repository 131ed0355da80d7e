import { type KeyboardEvent, memo } from "react";
import { statusTone, statusWord } from "@/parts/Status";
import { between } from "@/parts/time";
import css from "./GraphView.module.css";
import { HEIGHT, type Placed, type Point, WIDTH } from "./layout";
import { type Box, countsOf, type Drawing, itemsOf, statusOf } from "./model";

const LONGEST = 27;

interface BoxProps {
  box: Box;
  at: Point;
  canFocus: boolean;
  isSelected: boolean;
  isFar: boolean;
  match: boolean | null;
  onChoose: (box: Box) => void;
  onKey: (event: KeyboardEvent, box: Box) => void;
}

/** One task, or a stack of tasks that are alike. */
export const BoxView = memo(function BoxView(props: BoxProps) {
  const { box, at, canFocus, isSelected, isFar, match, onChoose, onKey } = props;
  const status = statusOf(box);
  const isStack = box.nodes.length > 1;
  const name = isStack ? `${box.nodes.length} × ${box.title}` : box.title;
  const words = wordsOf(box, status);
  return (
    <g
      transform={`translate(${at.x} ${at.y})`}
      className={css.box}
      data-box={box.id}
      data-tone={statusTone(status)}
      data-critical={box.nodes.some((one) => one.is_critical) || undefined}
      data-selected={isSelected || undefined}
      data-match={match ?? undefined}
      role="button"
      // Near, its name is what is written in it.
      aria-label={isFar ? `${name}: ${words}` : undefined}
      tabIndex={canFocus ? 0 : -1}
      onClick={() => onChoose(box)}
      onKeyDown={(event) => onKey(event, box)}
    >
      {isStack && <rect x="5" y="-5" width={WIDTH} height={HEIGHT} rx="8" className={css.behind} />}
      <rect width={WIDTH} height={HEIGHT} rx="8" />
      {!isFar && (
        <>
          <text x="12" y="22" className={css.name}>
            {short(name)}
          </text>
          <text x="12" y="40" className={css.words}>
            {short(words)}
          </text>
        </>
      )}
    </g>
  );
});

function wordsOf(box: Box, status: string): string {
  const [node] = box.nodes;
  if (box.nodes.length > 1) {
    return countsOf(box.nodes)
      .map(([one, count]) => `${count} ${statusWord(one).toLowerCase()}`)
      .join(", ");
  }
  if (node?.items) return `${statusWord(status)}, ${itemsOf(node.items)}`;
  return `${statusWord(status)}${node?.started_at ? `, ${between(node.started_at, node.finished_at)}` : ""}`;
}

function short(text: string): string {
  return text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text;
}

/** Boxes as areas of their colour, one shape for each: from afar, or in the map. */
export function Areas({ boxes, at }: { boxes: readonly Box[]; at: Placed["at"] }) {
  const shapes = new Map<string, string>();
  for (const box of boxes) {
    const place = at.get(box.id);
    const tone = statusTone(statusOf(box));
    if (place) shapes.set(tone, `${shapes.get(tone) ?? ""}M${place.x},${place.y}h${WIDTH}v${HEIGHT}h${-WIDTH}z`);
  }
  return [...shapes].map(([tone, d]) => <path key={tone} d={d} className={css.area} data-tone={tone} />);
}

interface EdgesProps {
  edges: Drawing["edges"];
  at: Placed["at"];
  isShown: (box: Point) => boolean;
}

/** All arrows as one shape, and those of the critical path as another. */
export function Edges({ edges, at, isShown }: EdgesProps) {
  const [plain, critical] = [
    { lines: "", heads: "" },
    { lines: "", heads: "" },
  ];
  for (const edge of edges) {
    const [from, to] = [at.get(edge.from), at.get(edge.to)];
    if (!from || !to || !(isShown(from) || isShown(to))) continue;
    const [x1, y1, x2, y2] = [from.x + WIDTH, from.y + HEIGHT / 2, to.x, to.y + HEIGHT / 2];
    const bend = Math.max(24, (x2 - x1) / 2);
    const shape = edge.isCritical ? critical : plain;
    shape.lines += `M${x1},${y1}C${x1 + bend},${y1} ${x2 - bend},${y2} ${x2},${y2}`;
    shape.heads += `M${x2 - 8},${y2 - 4}L${x2},${y2}L${x2 - 8},${y2 + 4}z`;
  }
  return (
    <>
      <path d={plain.lines} className={css.edge} />
      <path d={plain.heads} className={css.arrow} />
      <path d={critical.lines} className={css.edge} data-critical />
      <path d={critical.heads} className={css.arrow} data-critical />
    </>
  );
}
